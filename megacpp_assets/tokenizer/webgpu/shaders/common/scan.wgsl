// Exclusive sums over the 256 values of a workgroup, with two barriers. Subgroups may have any size: each scans its own
// values, and its first invocation adds up the totals of the subgroups before it.
var<workgroup> subgroup_totals: array<u32, 256>;
var<workgroup> subgroup_befores: array<u32, 256>;

struct Subgroup {
    number: u32,
    count: u32,
    size: u32,
    lane: u32,
}

struct Scanned {
    before: u32,
    total: u32,
}

// Where an invocation stands in its workgroup, counted subgroup by subgroup: WebGPU does not tie subgroups to indices.
fn subgroup_position(subgroup: Subgroup) -> u32 {
    return subgroup.number * subgroup.size + subgroup.lane;
}

fn scan_workgroup(value: u32, subgroup: Subgroup) -> Scanned {
    let before = subgroupExclusiveAdd(value);
    let total = subgroupAdd(value);
    if (subgroup.lane == 0u) {
        subgroup_totals[subgroup.number] = total;
    }
    workgroupBarrier();
    if (subgroup.lane == 0u) {
        var sum = 0u;
        for (var other = 0u; other < subgroup.number; other++) {
            sum += subgroup_totals[other];
        }
        subgroup_befores[subgroup.number] = sum;
    }
    workgroupBarrier();
    let last = subgroup.count - 1u;
    return Scanned(subgroup_befores[subgroup.number] + before, subgroup_befores[last] + subgroup_totals[last]);
}
