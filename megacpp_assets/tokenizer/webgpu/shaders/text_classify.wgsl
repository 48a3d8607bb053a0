//! use text
// What each place is in UTF-8 (Unicode 15, table 3-7), and the classes of the character that it belongs to.
@group(0) @binding(0) var<storage, read> bytes: array<u32>; // four bytes a word
@group(0) @binding(1) var<storage, read> text_marks: array<u32>; // a bit for each place in front of a text
@group(0) @binding(2) var<storage, read> classes: array<u32>; // four bits for each code point
@group(0) @binding(3) var<storage, read_write> cells: array<u32>;
@group(0) @binding(4) var<storage, read> sizes: array<u32>;

fn byte_at(i: u32) -> u32 {
    if (i >= sizes[0] || ((text_marks[i / 32u] >> (i % 32u)) & 1u) != 0u) {
        return END;
    }
    return (bytes[i / 4u] >> (8u * (i % 4u))) & 0xFFu;
}

fn is_between(value: u32, low: u32, high: u32) -> bool {
    return value >= low && value <= high;
}

// Bytes of the well-formed character that begins at i, 0 if none does.
fn character_width(i: u32) -> u32 {
    let first = byte_at(i);
    if (first < 0x80u) {
        return 1u;
    }
    if (first < 0xC2u || first > 0xF4u) {
        return 0u;
    }
    var low = select(0x80u, 0xA0u, first == 0xE0u);
    low = select(low, 0x90u, first == 0xF0u);
    var high = select(0xBFu, 0x9Fu, first == 0xEDu);
    high = select(high, 0x8Fu, first == 0xF4u);
    let width = select(select(4u, 3u, first < 0xF0u), 2u, first < 0xE0u);
    var formed = is_between(byte_at(i + 1u), low, high);
    formed = formed && (width < 3u || is_between(byte_at(i + 2u), 0x80u, 0xBFu));
    formed = formed && (width < 4u || is_between(byte_at(i + 3u), 0x80u, 0xBFu));
    return select(0u, width, formed);
}

fn code_point(i: u32, width: u32) -> u32 {
    var code = byte_at(i);
    if (width > 1u) {
        code &= 0x7Fu >> width;
    }
    for (var k = 1u; k < width; k++) {
        code = (code << 6u) | (byte_at(i + k) & 0x3Fu);
    }
    return code;
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
    let byte = byte_at(i);
    if (byte == END) {
        cells[i] = END | TEXT;
        return;
    }
    var lead = i;
    var width = character_width(i);
    let begins = width != 0u;
    for (var back = 1u; width == 0u && back < 4u && back <= i; back++) {
        let reach = character_width(i - back);
        if (reach > back) {
            width = reach;
            lead = i - back;
        }
    }
    if (width == 0u) {
        cells[i] = byte | STRAY;
        return;
    }
    let code = code_point(lead, width);
    let class_bits = (classes[code / 8u] >> (4u * (code % 8u))) & 7u;
    let leads = select(0u, LEAD | (width << WIDTH_SHIFT), begins);
    cells[i] = byte | leads | (class_bits << CLASS_SHIFT);
}
