//! use pieces
// The distinct words in the order of their first pieces: first place, length, how often, and 0; and the number of each
// word among them.
@group(0) @binding(0) var<storage, read_write> pieces: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> firsts: array<u32>;
@group(0) @binding(3) var<storage, read> ranks: array<u32>;
@group(0) @binding(4) var<storage, read> times: array<u32>;
@group(0) @binding(5) var<storage, read_write> words: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = item_number(group, groups, lane);
    if (i >= counts[0] || pieces[i].z != IS_WORD) {
        return;
    }
    let piece = pieces[i];
    let first = ~firsts[piece.w];
    if (first == i) {
        words[ranks[i]] = vec4<u32>(piece.x, piece.y - piece.x, times[piece.w], 0u);
    }
    pieces[i].w = ranks[first];
}
