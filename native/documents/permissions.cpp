#include "search.hpp"

namespace megacpp {

// An item cannot be shown if it is barred and no short declaration can replace it, or if it is sealed and has no
// signature, or if it has half of a conditional, or if it is C++ in a document in C.
bool Search::is_refused(Item item) {
  if (facts_.is_unusable(item, limits_.is_c)) return true;
  if (!(*limits_.barred)[item] || is_partial(item)) return false;
  const Lengths& lengths = facts_.lengths(item);
  const bool is_short = 0 < lengths.least && lengths.least <= kLongestStandIn;
  return !is_short || ((*limits_.sealed)[item] && !facts_.shortest(item).is_head && facts_.bodies(item).empty());
}

// A barred enumeration, or a barred struct that a typedef alone names, is shown with its used members: nothing shorter
// declares it.
bool Search::is_partial(Item item) {
  if (!(*limits_.barred)[item] || (*limits_.denied)[item]) return false;
  return facts_.lengths(item).declared > kLongestStandIn && facts_.has_partial(item);
}

// More than the head of a class may be shown. Of a barred class these are short members without bodies, or a short
// enumeration, which has no members to choose from. A root is cut into parts because it is too long.
bool Search::may_open(const Offer& offer) {
  const auto [item, number] = offer;
  if (state_.distance(item) == 0 && number == kAll) return false;
  if (!state_.is_head(item) || !(*limits_.barred)[item]) return state_.is_head(item);
  if ((*limits_.sealed)[item]) return false;
  const Excerpt& excerpt = facts_.excerpt(item);
  if (!excerpt.exists || number == kAll)
    return !excerpt.exists && number == kAll && facts_.lengths(item).declared <= kLongestStandIn;
  for (const std::int32_t each : facts_.with_named(offer)) {
    if (each == kOpening) continue;
    const Member& member = excerpt.members[each];
    if (member.chars > (member.called ? kLongestSignature : kLongestStandIn)) return false;
  }
  return true;
}

bool Search::may_show_bodies(Item item) const {
  return state_.is_context(item) && !state_.is_head(item) && !(*limits_.barred)[item];
}

bool Search::has_partial() {
  return std::any_of(state_.order().begin(), state_.order().end(),
                     [&](Item item) { return state_.is_context(item) && is_partial(item); });
}

}  // namespace megacpp
