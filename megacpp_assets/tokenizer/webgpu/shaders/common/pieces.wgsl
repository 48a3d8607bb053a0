// Pieces of texts: (first place, place behind, kind, value). The value of a word is its number among the distinct words,
// that of any other piece is its token.
const IS_WORD: u32 = 0u;
const IS_TOKEN: u32 = 1u; // a guard, or a byte of no character
const IS_BOS: u32 = 2u;
