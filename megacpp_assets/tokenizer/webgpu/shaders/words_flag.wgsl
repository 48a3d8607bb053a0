//! use pieces
// 1 for the first piece of each distinct word.
@group(0) @binding(0) var<storage, read> pieces: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> firsts: array<u32>;
@group(0) @binding(3) var<storage, read_write> ranks: array<u32>;

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
    ranks[i] = 0u;
    if (piece.z == IS_WORD) {
        ranks[i] = select(0u, 1u, ~firsts[piece.w] == i);
    }
}
