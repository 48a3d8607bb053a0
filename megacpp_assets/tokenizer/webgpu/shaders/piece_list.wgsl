//! use text pieces
// Writes each piece to its place in the list. `constants` holds the token of BOS, then that of each of the 256 bytes.
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read> visited: array<u32>;
@group(0) @binding(3) var<storage, read> ranks: array<u32>;
@group(0) @binding(4) var<storage, read> jumps: array<u32>;
@group(0) @binding(5) var<storage, read> matches: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> bytes: array<u32>;
@group(0) @binding(7) var<storage, read> constants: array<u32>;
@group(0) @binding(8) var<storage, read_write> pieces: array<vec4<u32>>;

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
    let word = cells[i];
    if ((word & TEXT) != 0u) {
        pieces[ranks[i]] = vec4<u32>(i, i + 1u, IS_BOS, constants[0]);
    } else if ((word & GUARD) != 0u) {
        pieces[ranks[i]] = vec4<u32>(i, i + matches[i].y, IS_TOKEN, matches[i].x - 1u);
    } else if ((word & STRAY) != 0u) {
        let byte = (bytes[i / 4u] >> (8u * (i % 4u))) & 0xFFu;
        pieces[ranks[i]] = vec4<u32>(i, i + 1u, IS_TOKEN, constants[1u + byte]);
    } else if (visited[i] != 0u && (word & CELL_MASK) != END) {
        pieces[ranks[i]] = vec4<u32>(i, jumps[i], IS_WORD, 0u);
    }
}
