// Runs of places of one class, a bit a place. A kernel declares sizes.
const BLANK: u32 = 0u;
const WORD: u32 = 1u;
const DIGITS: u32 = 2u; // what continues a number
const LINES: u32 = 3u; // line endings and the indentation behind them
const OPERATORS: u32 = 4u; // operators, and lines or one space between them

fn mask_words() -> u32 {
    return (sizes[0] + 31u) / 32u;
}
