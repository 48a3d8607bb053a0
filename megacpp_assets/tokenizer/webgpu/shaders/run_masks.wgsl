//! use text masks
// Bits of blanks, of what continues a word, and of what continues a number: an invocation makes 32 of each.
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read_write> masks: array<u32>;

fn continues(i: u32) -> bool {
    return (word_at(i) & CONTINUE) != 0u;
}

fn joins(cell: u32) -> bool {
    return cell == 0x27u || cell == 0x2Eu;
}

// A quote or a point goes on before a character of a word, a sign between an exponent's letter and a digit.
fn continues_number(i: u32) -> bool {
    let cell = cell_at(i);
    if (joins(cell)) {
        return continues(i + 1u);
    }
    if (cell == 0x2Bu || cell == 0x2Du) {
        let letter = cell_at(i - 1u) | 0x20u;
        let exponent = (letter == 0x65u || letter == 0x70u) && !joins(cell_at(i - 2u));
        return exponent && is_digit(cell_at(i + 1u));
    }
    return continues(i);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i >= mask_words()) {
        return;
    }
    var blank = 0u;
    var word = 0u;
    var number = 0u;
    for (var bit = 0u; bit < 32u; bit++) {
        let at = i * 32u + bit;
        blank |= select(0u, 1u, is_blank(cell_at(at))) << bit;
        word |= select(0u, 1u, continues(at)) << bit;
        number |= select(0u, 1u, continues_number(at)) << bit;
    }
    masks[BLANK * mask_words() + i] = blank;
    masks[WORD * mask_words() + i] = word;
    masks[DIGITS * mask_words() + i] = number;
}
