// One word of `cells` for each byte of a slice of texts. In front of each text stands a place of its own, its BOS.
// A kernel declares cells and sizes; sizes[0] is the number of places.
const CELL_MASK: u32 = 0x1FFu; // the byte; END for a place that no word may hold
const END: u32 = 256u;
const LEAD: u32 = 1u << 9u; // the first byte of a well-formed character
const STRAY: u32 = 1u << 10u; // a byte of no well-formed character
const START: u32 = 1u << 11u; // the character may begin an identifier
const CONTINUE: u32 = 1u << 12u; // or continue one
const NUMBER: u32 = 1u << 13u; // or begin a number
const CLASS_SHIFT: u32 = 11u;
const WIDTH_SHIFT: u32 = 14u; // bytes of the character that begins here, in three bits
const GUARD: u32 = 1u << 17u; // a guard begins here
const TEXT: u32 = 1u << 18u; // the place in front of a text

// END outside of the slice, before its begin too, where `i` has wrapped.
fn word_at(i: u32) -> u32 {
    return select(END, cells[min(i, sizes[0] - 1u)], i < sizes[0]);
}

fn cell_at(i: u32) -> u32 {
    return word_at(i) & CELL_MASK;
}

fn is_blank(cell: u32) -> bool {
    return cell == 0x20u || cell == 0x09u;
}

fn is_digit(cell: u32) -> bool {
    return cell - 0x30u <= 9u;
}

// One of !"$%&'()*+,-./;<=?@[]^`{|}~
fn is_punctuation(cell: u32) -> bool {
    let high = select(0u, select(0x68000001u, 0x78000001u, cell >= 0x60u), cell >= 0x40u);
    let bits = select(high, 0xB800FFF6u, cell >= 0x20u && cell < 0x40u);
    return cell < 0x80u && ((bits >> (cell & 31u)) & 1u) != 0u;
}

fn is_operator(i: u32) -> bool {
    let cell = cell_at(i);
    return is_punctuation(cell) || (cell == 0x3Au && cell_at(i + 1u) != 0x3Au);
}

// A newline, or a carriage return in front of one.
fn is_ending(i: u32) -> bool {
    let cell = cell_at(i);
    return cell == 0x0Au || (cell == 0x0Du && cell_at(i + 1u) == 0x0Au);
}
