//! use chain
// Which places the chain from place 0 visits.
@group(0) @binding(0) var<storage, read> jumps: array<u32>;
@group(0) @binding(1) var<storage, read> entries: array<u32>;
@group(0) @binding(2) var<storage, read_write> visited: array<u32>;
@group(0) @binding(3) var<storage, read> sizes: array<u32>;

var<workgroup> seen: array<atomic<u32>, CHUNK>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let chunk = group_number(group, groups);
    for (var part = 0u; part < 4u; part++) {
        let at = part * 256u + lane;
        let i = chunk * CHUNK + at;
        next_place[at] = CHUNK;
        atomicStore(&seen[at], 0u);
        if (i < sizes[0]) {
            next_place[at] = jumps[i] - chunk * CHUNK;
            atomicStore(&seen[at], select(0u, 1u, entries[chunk] == i));
        }
    }
    workgroupBarrier();
    for (var round = 0u; round < 10u; round++) {
        for (var part = 0u; part < 4u; part++) {
            let to = next_place[part * 256u + lane];
            if (to < CHUNK && atomicLoad(&seen[part * 256u + lane]) != 0u) {
                atomicStore(&seen[to], 1u);
            }
        }
        workgroupBarrier();
        double_jumps(lane);
    }
    for (var part = 0u; part < 4u; part++) {
        let i = chunk * CHUNK + part * 256u + lane;
        if (i < sizes[0]) {
            visited[i] = atomicLoad(&seen[part * 256u + lane]);
        }
    }
}
