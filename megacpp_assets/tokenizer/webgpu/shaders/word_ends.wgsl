//! use text masks runs
// Where a word that begins at each place would end: the rules of the recipe operators_carry_spaces, as functions of a
// place. Names follow the native splitter (native/tokenizer/splitter.hpp).
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read> masks: array<u32>;
@group(0) @binding(3) var<storage, read> carries: array<u32>;
@group(0) @binding(4) var<storage, read> names: array<u32>; // directives, commands; (place, length) of each; bytes
@group(0) @binding(5) var<storage, read_write> jumps: array<u32>;

// A run of operators goes on across indented lines and across one space; one space behind an operator is the run's.
fn operators_end(i: u32) -> u32 {
    let end = run_end(OPERATORS, i);
    let takes_space = cell_at(end) == 0x20u && end > i && is_operator(end - 1u);
    return end + select(0u, 1u, takes_space);
}

// A space is its operator's, or a line continuation's; else it begins a run of blanks.
fn spaced_end(i: u32) -> u32 {
    if (is_operator(i + 1u)) {
        return operators_end(i + 1u);
    }
    if (cell_at(i + 1u) == 0x5Cu && is_ending(i + 2u)) {
        return run_end(LINES, i + 2u);
    }
    return run_end(BLANK, i);
}

fn lines_end(i: u32) -> u32 {
    let end = run_end(LINES, i);
    if (is_operator(end)) {
        return operators_end(end);
    }
    return end;
}

// "std::" and "template<" are words of their own.
fn identifier_end(i: u32) -> u32 {
    let end = run_end(WORD, i);
    let first = cell_at(i);
    if (end == i + 3u && first == 0x73u && cell_at(i + 1u) == 0x74u && cell_at(i + 2u) == 0x64u) {
        return end + select(0u, 2u, cell_at(end) == 0x3Au && cell_at(end + 1u) == 0x3Au);
    }
    if (end == i + 8u && first == 0x74u && cell_at(end) == 0x3Cu) {
        return end + select(0u, 1u, spells(i, names[2u * (names[0] + names[1]) + 2u], 8u));
    }
    return end;
}

fn spells(i: u32, at: u32, length: u32) -> bool {
    for (var k = 0u; k < length; k++) {
        if (cell_at(i + k) != names[at + k]) {
            return false;
        }
    }
    return true;
}

// Behind the word at `name` where it is one of `count` names from number `first` on, else `otherwise`.
fn named_end(name: u32, first: u32, count: u32, otherwise: u32) -> u32 {
    let end = max(run_end(WORD, name), name);
    for (var number = first; number < first + count; number++) {
        let length = names[2u * number + 3u];
        if (end - name == length && spells(name, names[2u * number + 2u], length)) {
            return end;
        }
    }
    return otherwise;
}

fn directive_end(i: u32) -> u32 {
    let otherwise = i + select(1u, 2u, cell_at(i + 1u) == 0x23u);
    return named_end(run_end(BLANK, i + 1u), 0u, names[0], otherwise);
}

// One of abefnrtv0'"?\
fn is_escape(cell: u32) -> bool {
    let letter = cell >= 0x60u && cell < 0x80u && ((0x00544066u >> (cell & 31u)) & 1u) != 0u;
    return letter || cell == 0x30u || cell == 0x27u || cell == 0x22u || cell == 0x3Fu || cell == 0x5Cu;
}

fn escape_end(i: u32) -> u32 {
    var otherwise = i + 1u;
    if (is_ending(i + 1u)) {
        otherwise = run_end(LINES, i + 1u);
    }
    if (is_escape(cell_at(i + 1u))) {
        otherwise = i + 2u;
    }
    return named_end(i + 1u, names[0], names[1], otherwise);
}

fn word_end(i: u32) -> u32 {
    let word = word_at(i);
    let cell = word & CELL_MASK;
    if ((word & START) != 0u) {
        return identifier_end(i);
    }
    if ((word & NUMBER) != 0u) {
        return run_end(DIGITS, i);
    }
    if (is_ending(i)) {
        return lines_end(i);
    }
    if (cell == 0x20u) {
        return spaced_end(i);
    }
    if (cell == 0x09u) {
        return run_end(BLANK, i);
    }
    if (cell == 0x23u) {
        return directive_end(i);
    }
    if (cell == 0x5Cu) {
        return escape_end(i);
    }
    if (is_operator(i)) {
        return operators_end(i);
    }
    if (cell == 0x3Au) {
        return i + 2u;
    }
    return i + max(1u, (word >> WIDTH_SHIFT) & 7u);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i >= sizes[0]) {
        return;
    }
    // Nothing but the next place lies behind a place that no word may hold.
    jumps[i] = select(word_end(i), i + 1u, cell_at(i) == END);
}
