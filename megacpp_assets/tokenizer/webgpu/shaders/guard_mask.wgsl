//! use text
// Cuts the guards that a scan from the left takes out of the text, and the stray bytes: no word may hold them.
@group(0) @binding(0) var<storage, read_write> cells: array<u32>;
@group(0) @binding(1) var<storage, read> sizes: array<u32>;
@group(0) @binding(2) var<storage, read> matches: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> visited: array<u32>;

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
    var word = cells[i];
    var covered = (word & STRAY) != 0u;
    for (var back = 0u; back < sizes[2] && back <= i; back++) {
        covered = covered || (visited[i - back] != 0u && matches[i - back].y > back);
    }
    if (covered) {
        word = (word & (LEAD | STRAY | TEXT)) | END;
        if (visited[i] != 0u && matches[i].y != 0u) {
            word |= GUARD;
        }
        cells[i] = word;
    }
}
