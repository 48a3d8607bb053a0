//! use text
// The longest guard that begins at each place: its id + 1 and its length, 0 for none. The trie of guards is small.
@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read> nodes: array<u32>; // first edge, edges, id + 1 of each node
@group(0) @binding(3) var<storage, read> edges: array<u32>; // byte, child
@group(0) @binding(4) var<storage, read_write> matches: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> jumps: array<u32>; // behind the guard, or to the next place

fn child_of(node: u32, cell: u32) -> u32 {
    let first = nodes[3u * node];
    for (var edge = first; edge < first + nodes[3u * node + 1u]; edge++) {
        if (edges[2u * edge] == cell) {
            return edges[2u * edge + 1u];
        }
    }
    return 0u;
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
    var found = vec2<u32>(0u, 0u);
    var depth = 1u;
    var node = child_of(0u, cell_at(i));
    while (node != 0u) {
        let id = nodes[3u * node + 2u];
        if (id != 0u) {
            found = vec2<u32>(id, depth);
        }
        node = child_of(node, cell_at(i + depth));
        depth += 1u;
    }
    matches[i] = found;
    jumps[i] = i + max(found.y, 1u);
}
