// Where runs begin and end. For each block of 256 places, `carries` holds where the run at its begin ends, and for blanks
// where it began. A kernel uses masks too, and declares masks, carries and sizes.
const BLANK_BEGIN: u32 = 5u; // carries only: the last place before a block that is not blank

fn blocks() -> u32 {
    return (sizes[0] + 255u) / 256u;
}

fn carry_index(kind: u32, block: u32) -> u32 {
    return kind * (blocks() + 1u) + block;
}

// The first place at or behind `i` outside of runs of `kind`; the number of places if there is none.
fn run_end(kind: u32, i: u32) -> u32 {
    if (i >= sizes[0]) {
        return sizes[0];
    }
    let base = kind * mask_words();
    var word = i / 32u;
    var outside = (~masks[base + word]) >> (i % 32u) << (i % 32u);
    let last = min((word | 7u) + 1u, mask_words());
    while (outside == 0u && word + 1u < last) {
        word += 1u;
        outside = ~masks[base + word];
    }
    if (outside == 0u) {
        return carries[carry_index(kind, i / 256u + 1u)];
    }
    return min(sizes[0], word * 32u + countTrailingZeros(outside));
}

// The last place at or before `i` that is not blank. The place in front of a text is not.
fn before_blanks(i: u32) -> u32 {
    var word = i / 32u;
    let shift = 31u - i % 32u;
    var outside = (~masks[word]) << shift >> shift;
    while (outside == 0u && (word & 7u) != 0u) {
        word -= 1u;
        outside = ~masks[word];
    }
    if (outside == 0u) {
        return carries[carry_index(BLANK_BEGIN, i / 256u)];
    }
    return word * 32u + 31u - countLeadingZeros(outside);
}
