// Numbers workgroups and invocations. A host that tests for races rotates or reverses the order of workgroups.
override FIRST_GROUP: u32 = 0u;
override REVERSE_GROUPS: u32 = 0u;

fn group_number(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    let count = groups.x * groups.y;
    let turned = (group.y * groups.x + group.x + FIRST_GROUP) % count;
    return select(turned, count - 1u - turned, REVERSE_GROUPS != 0u);
}

fn item_number(group: vec3<u32>, groups: vec3<u32>, lane: u32) -> u32 {
    return group_number(group, groups) * 256u + lane;
}
