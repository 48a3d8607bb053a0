//! use text pieces
// Writes the tokens of each piece: id, first character, and the character behind. Characters count from the text's begin.
@group(0) @binding(0) var<storage, read> pieces: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> words: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read> tokens: array<u32>;
@group(0) @binding(5) var<storage, read> widths: array<u32>; // bytes of each id
@group(0) @binding(6) var<storage, read> characters: array<u32>; // characters before each place
@group(0) @binding(7) var<storage, read> cells: array<u32>;
@group(0) @binding(8) var<storage, read> sizes: array<u32>;
@group(0) @binding(9) var<storage, read> text_places: array<u32>; // the place in front of each text
@group(0) @binding(10) var<storage, read_write> text_tokens: array<u32>; // where the tokens of each text begin
@group(0) @binding(11) var<storage, read_write> spans: array<u32>; // three words a token

// The last text whose place is at or before i.
fn text_of(i: u32) -> u32 {
    var low = 0u;
    var high = sizes[3];
    while (high - low > 1u) {
        let middle = (low + high) / 2u;
        if (text_places[middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

fn write_span(token: u32, id: u32, place: u32, end: u32, base: u32) {
    let begins = (word_at(place) & (LEAD | STRAY)) != 0u;
    spans[3u * token] = id;
    spans[3u * token + 1u] = characters[place] - select(1u, 0u, begins) - base;
    spans[3u * token + 2u] = characters[end] - base;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i >= counts[0]) {
        return;
    }
    let piece = pieces[i];
    let text = text_of(piece.x);
    if (piece.z == IS_BOS) {
        text_tokens[text] = offsets[i];
        spans[3u * offsets[i]] = piece.w;
        spans[3u * offsets[i] + 1u] = 0u;
        spans[3u * offsets[i] + 2u] = 0u;
        return;
    }
    let base = characters[text_places[text]];
    if (piece.z == IS_TOKEN) {
        write_span(offsets[i], piece.w, piece.x, piece.y, base);
        return;
    }
    let word = words[piece.w];
    var place = piece.x;
    for (var k = 0u; k < word.w; k++) {
        let id = tokens[word.x + k];
        write_span(offsets[i] + k, id, place, place + widths[id], base);
        place += widths[id];
    }
}
