// The order of pairs: the highest count first, of equal counts the smallest left id, then the smallest right id.
struct Best {
    high: i32,
    low: u32,
    left: u32,
    right: u32,
    slot: u32,
}

var<workgroup> candidates: array<Best, 256>;

fn no_best() -> Best {
    return Best(0, 0u, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu);
}

fn precedes(one: Best, other: Best) -> bool {
    if (one.high != other.high) {
        return one.high > other.high;
    }
    if (one.low != other.low) {
        return one.low > other.low;
    }
    if (one.left != other.left) {
        return one.left < other.left;
    }
    return one.right < other.right;
}

// The best of the workgroup, for its first invocation.
fn best_of_workgroup(mine: Best, lane: u32) -> Best {
    candidates[lane] = mine;
    for (var stride = 128u; stride > 0u; stride /= 2u) {
        workgroupBarrier();
        if (lane < stride && precedes(candidates[lane + stride], candidates[lane])) {
            candidates[lane] = candidates[lane + stride];
        }
    }
    return candidates[0];
}
