//! use murmur
// The tokens of each distinct word, written to its first place on: a word that is a token is looked up, any other is
// merged by rank, of equal ranks the leftmost. Words over 256 bytes are the host's; `long_words[0]` counts them.
@group(0) @binding(0) var<storage, read_write> words: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> counts: array<u32>; // counts[1]: number of distinct words
@group(0) @binding(2) var<storage, read> bytes: array<u32>;
@group(0) @binding(3) var<storage, read> constants: array<u32>;
@group(0) @binding(4) var<storage, read> spelled: array<vec4<u32>>; // slots: place + 1, length, id, 0; all 0 if free
@group(0) @binding(5) var<storage, read> pool: array<u32>; // bytes of all tokens, four a word
@group(0) @binding(6) var<storage, read> merges: array<vec4<u32>>; // slots: left + 1, right, rank, product
@group(0) @binding(7) var<storage, read_write> tokens: array<u32>;
@group(0) @binding(8) var<storage, read_write> ranks: array<u32>;
@group(0) @binding(9) var<storage, read_write> long_words: array<atomic<u32>>;

const LONGEST: u32 = 256u;
const NO_RANK: u32 = 0xFFFFFFFFu;

fn byte_at(i: u32) -> u32 {
    return (bytes[i / 4u] >> (8u * (i % 4u))) & 0xFFu;
}

fn spells(place: u32, start: u32, length: u32) -> bool {
    var same = true;
    for (var k = 0u; same && k < length; k++) {
        let at = place + k;
        same = ((pool[at / 4u] >> (8u * (at % 4u))) & 0xFFu) == byte_at(start + k);
    }
    return same;
}

// The entry of the token that the word is; all 0 if it is none.
fn find_token(start: u32, length: u32) -> vec4<u32> {
    var hash = length;
    for (var k = 0u; k < length; k++) {
        hash = murmur_mix(hash * 31u + byte_at(start + k));
    }
    let mask = arrayLength(&spelled) - 1u;
    var slot = hash & mask;
    var entry = spelled[slot];
    while (entry.x != 0u && !(entry.y == length && spells(entry.x - 1u, start, length))) {
        slot = (slot + 1u) & mask;
        entry = spelled[slot];
    }
    return entry;
}

// (rank, product) of a pair; NO_RANK if it is never merged.
fn find_merge(left: u32, right: u32) -> vec2<u32> {
    let mask = arrayLength(&merges) - 1u;
    var slot = pair_hash(left, right) & mask;
    var entry = merges[slot];
    while (entry.x != 0u && !(entry.x == left + 1u && entry.y == right)) {
        slot = (slot + 1u) & mask;
        entry = merges[slot];
    }
    return select(vec2<u32>(NO_RANK, 0u), entry.zw, entry.x != 0u);
}

// Merges the word in place; how many tokens are left.
fn merge_word(start: u32, length: u32) -> u32 {
    for (var k = 0u; k < length; k++) {
        tokens[start + k] = constants[1u + byte_at(start + k)];
    }
    for (var k = 0u; k + 1u < length; k++) {
        ranks[start + k] = find_merge(tokens[start + k], tokens[start + k + 1u]).x;
    }
    var size = length;
    var merging = true;
    while (merging) {
        var best = NO_RANK;
        var at = 0u;
        for (var k = 0u; k + 1u < size; k++) {
            if (ranks[start + k] < best) {
                best = ranks[start + k];
                at = k;
            }
        }
        merging = best != NO_RANK;
        if (merging) {
            tokens[start + at] = find_merge(tokens[start + at], tokens[start + at + 1u]).y;
            size -= 1u;
            for (var k = at + 1u; k < size; k++) {
                tokens[start + k] = tokens[start + k + 1u];
                ranks[start + k] = ranks[start + k + 1u];
            }
            if (at > 0u) {
                ranks[start + at - 1u] = find_merge(tokens[start + at - 1u], tokens[start + at]).x;
            }
            if (at + 1u < size) {
                ranks[start + at] = find_merge(tokens[start + at], tokens[start + at + 1u]).x;
            }
        }
    }
    return size;
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i >= counts[1]) {
        return;
    }
    let start = words[i].x;
    let length = words[i].y;
    let whole = find_token(start, length);
    if (whole.x != 0u) {
        tokens[start] = whole.z;
        words[i].w = 1u;
    } else if (length <= LONGEST) {
        words[i].w = merge_word(start, length);
    } else {
        atomicAdd(&long_words[0], 1u);
    }
}
