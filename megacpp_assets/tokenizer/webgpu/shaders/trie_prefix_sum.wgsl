// Where the chain of tokens enters each chunk, and how many tokens lie before it. One invocation, as each chunk's entry
// is the exit of the one before: so no token is split at the border of a chunk.
struct TrieParams {
    input_length: u32,
    limit: u32,
}

@group(0) @binding(0) var<storage, read> chunk_counts: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> chunk_offsets: array<vec2<u32>>; // entry, tokens before
@group(0) @binding(2) var<storage, read_write> total: array<u32>; // tokens; the place behind the last of them
@group(0) @binding(3) var<uniform> params: TrieParams;

@compute @workgroup_size(1)
fn main() {
    var place = 0u;
    var tokens = 0u;
    for (var first = 0u; first < params.limit; first += 1024u) {
        chunk_offsets[first / 1024u] = vec2<u32>(place, tokens);
        if (place < min(first + 1024u, params.limit)) {
            tokens += chunk_counts[place].y;
            place = chunk_counts[place].x;
        }
    }
    total[0] = tokens;
    total[1] = place;
}
