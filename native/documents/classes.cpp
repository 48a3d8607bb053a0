#include <unordered_set>

#include "search.hpp"

namespace megacpp {

namespace {

// Append what was `found` of the members, or of all if there are none to choose from, in their order.
template <typename Found, typename Add>
void for_members(const Found& found, const Numbers* members, Add&& add) {
  for (const auto& [number, each] : found)
    if (members == nullptr || number == kOpening || holds(*members, number)) add(each);
}

// The numbers of chosen members, or of all `count`; without the opening.
template <typename Add>
void for_numbers(std::size_t count, const Numbers* members, Add&& add) {
  if (members == nullptr) {
    for (std::size_t each = 0; each < count; ++each) add(static_cast<std::int32_t>(each));
  } else {
    for (const std::int32_t each : *members)
      if (each != kOpening) add(each);
  }
}

Items once(const Items& items) {
  Items result;
  std::unordered_set<Item> seen;
  for (const Item item : items)
    if (seen.insert(item).second) result.push_back(item);
  return result;
}

}  // namespace

// The classes that must be complete where a class is shown with `members`, or with all.
Items Search::completes(Item item, const Numbers* members) {
  Items found;
  for_members(facts_.completing(item), members, [&](const Items& classes) { append(found, classes); });
  return once(found);
}

// Whether the head of a class names the other class.
bool Search::has_base(Item item, Item base) {
  static const Numbers kOnlyOpening;
  const Items bases = completes(item, &kOnlyOpening);
  return base != item && std::find(bases.begin(), bases.end(), base) != bases.end();
}

// The classes, with those that their heads name, and that the heads of those name.
Items Search::with_bases(const Items& classes) {
  static const Numbers kOnlyOpening;
  Items found = once(classes), pending = found;
  std::unordered_set<Item> seen(found.begin(), found.end());
  while (!pending.empty()) {
    const Item last = pending.back();
    pending.pop_back();
    for (const Item each : completes(last, &kOnlyOpening)) {
      if (!seen.insert(each).second) continue;
      found.push_back(each);
      pending.push_back(each);
    }
  }
  return found;
}

// The names of the functions among members of a class.
Numbers Search::called(Item item, const Numbers* members) {
  const Excerpt& excerpt = facts_.excerpt(item);
  Numbers names;
  if (!excerpt.exists) return names;
  for_numbers(excerpt.members.size(), members, [&](std::int32_t each) {
    if (excerpt.members[each].called) names.push_back(excerpt.members[each].called);
  });
  std::sort(names.begin(), names.end());
  return names;
}

// The members of a class that are functions with one of `names`.
Numbers Search::named(Item item, const Numbers& names) {
  Numbers found;
  if (names.empty()) return found;
  const Excerpt& excerpt = facts_.excerpt(item);
  for (std::size_t each = 0; each < excerpt.members.size(); ++each)
    if (holds(names, excerpt.members[each].called)) found.push_back(static_cast<std::int32_t>(each));
  return found;
}

// The names of the pure virtual functions among members of a class.
Numbers Search::pure(Item item, const Numbers* members) {
  const std::vector<Numbers>& all = facts_.pure(item);
  Numbers names;
  if (all.empty()) return names;
  for_numbers(all.size(), members, [&](std::int32_t each) { names = joined(names, all[each]); });
  return names;
}

// Define the classes that have to be complete where a class is shown: its bases with those of their virtual functions
// that it overrides, and the types of its fields.
Items Search::show_bases(Item item, const Growth& growth) {
  const Numbers members = state_.members(item);
  const Numbers* shown = state_.is_head(item) ? &members : nullptr;
  const Items bases = completes(item, shown);
  const Numbers names = bases.empty() ? Numbers{} : called(item, shown);
  Items fresh = define(bases, growth);
  const auto add = [&](const Offer& offer) {
    if (state_.is_head(offer.item) && !holds(state_.members(offer.item), offer.number))
      append(fresh, show(offer, growth));
  };
  for (const Item base : names.empty() ? Items{} : with_bases(bases))
    for (const std::int32_t number : virtuals(base, names)) add({base, number});
  for (const Item base : bases) append(fresh, show_overrides(item, base, growth));
  for_members(facts_.inside(item), shown, [&](const std::vector<Offer>& offers) {
    for (const Offer& offer : offers) add(offer);
  });
  if (!pure(item, nullptr).empty())
    for (const Item derived : state_.with_members())
      if (has_base(derived, item)) append(fresh, show_overrides(derived, item, growth));
  return fresh;
}

// The members of a class that are virtual functions with one of `names`. All destructors have one name.
Numbers Search::virtuals(Item item, const Numbers& names) {
  const Excerpt& excerpt = facts_.excerpt(item);
  const Numbers roles = facts_.roles(names);
  Numbers found;
  for (std::size_t each = 0; each < excerpt.members.size(); ++each)
    if (excerpt.members[each].is_virtual && holds(roles, facts_.role(excerpt.members[each].called)))
      found.push_back(static_cast<std::int32_t>(each));
  return found;
}

// Show what `item` overrides of the pure functions that its `base` shows: without that it has no objects.
Items Search::show_overrides(Item item, Item base, const Growth& growth) {
  Items fresh;
  if (!state_.has_members(item) || !has_base(item, base)) return fresh;
  const Numbers members = state_.members(base);
  for (const std::int32_t number : named(item, pure(base, state_.is_head(base) ? &members : nullptr)))
    if (!holds(state_.members(item), number)) append(fresh, show({item, number}, growth));
  return fresh;
}

// Show classes as more than declarations.
Items Search::define(const Items& classes, const Growth& growth) {
  Items fresh;
  for (const Item item : classes) {
    append(fresh, show({item, kHead}, growth));
    if (state_.is_head(item) && state_.members(item).empty()) append(fresh, show(definition(item), growth));
  }
  return fresh;
}

// The least that defines a class: its head without members. It is the whole class if this is short, cannot be cut, or
// has no member or no resolved use, so that nobody knows which of its members are used.
Offer Search::definition(Item item) {
  const Excerpt& excerpt = facts_.excerpt(item);
  const std::int64_t most = excerpt.exists && !excerpt.members.empty() ? kShortClass : kLongestUnseen;
  bool is_short = facts_.lengths(item).declared <= most || facts_.is_unresolved(item);
  is_short = is_short && !(*limits_.barred)[item];
  return {item, is_short || !excerpt.exists ? kAll : kOpening};
}

// Obtain, of the classes that a passage uses, the members that it names, and the definitions of those that it needs
// complete, or that functions which it calls take or return by value.
Items Search::look_into(const Passage& passage, const Growth& growth, How how) {
  const Look& look = facts_.look(passage);
  Items fresh, passed = look.passed;
  const auto add = [&](const Offer& offer, std::int64_t uses) {
    append(fresh, obtain(how, offer, growth, static_cast<double>(uses)));
  };
  for (const ClassUse& use : look.classes) {
    add({use.item, kHead}, use.uses);
    if (!state_.is_head(use.item) || (use.members.empty() && !use.is_complete)) continue;
    if (state_.members(use.item).empty()) add(definition(use.item), use.uses);
    for (const auto& [number, count] : use.members) add({use.item, number}, count);
    for (const auto& [number, count] : use.members) append(passed, facts_.passed_to({use.item, number}));
  }
  for (const Item item : once(passed)) {
    add({item, kHead}, 1);
    if (state_.is_head(item) && state_.members(item).empty()) add(definition(item), 1);
    Numbers numbers = named(item, look.implied);
    append(numbers, facts_.constructors(item));
    for (const std::int32_t number : numbers)
      if (state_.is_head(item)) add({item, number}, 0);
  }
  for (const Offer& offer : look.overridden)
    if (state_.is_head(offer.item)) add(offer, 0);
  append(fresh, show_evaluated(facts_.deduced(passage), growth));
  return fresh;
}

// Obtain the class that the item of `passage` is defined outside of as a member: its declaration there first, then the
// members that `passage` names.
Items Search::show_class_of(const Passage& passage, const Growth& growth, How how, double uses) {
  const Item item = facts_.of(passage.first);
  const auto [holder, is_inner] = facts_.holder(item);
  if (holder == kNone) return {};
  Items fresh = is_inner ? show_class_of(facts_.passage(holder), growth, how, uses) : Items{};
  append(fresh, obtain(how, {holder, kHead}, growth, uses));
  for (const Uses* wanted : {&facts_.own(item), &facts_.used(passage)})
    for (const UsedMember& each : members_of({holder}, *wanted)) append(fresh, obtain(how, each.offer, growth, uses));
  return fresh;
}

// Show the members of classes that declare what is `wanted` and that are not shown yet.
void Search::show_members(const Items& classes, const Uses& wanted, const Growth& growth) {
  for (const UsedMember& each : members_of(classes, wanted)) show(each.offer, growth);
}

// The members of the classes among `items` whose head is shown that declare what is `wanted`.
std::vector<Search::UsedMember> Search::members_of(const Items& items, const Uses& wanted) {
  std::vector<UsedMember> found;
  if (wanted.empty()) return found;
  for (const Item item : once(items))
    if (state_.is_head(item)) add_used(item, wanted, found);
  return found;
}

// Add the members of a class that declare what is `wanted`; of an enumeration, which has no excerpt, all together.
void Search::add_used(Item item, const Uses& wanted, std::vector<UsedMember>& found) {
  const auto& declaring = facts_.declaring(item);
  std::map<std::int32_t, std::int64_t> uses;
  const auto count = [&](const Numbers& numbers, std::int64_t each) {
    for (const std::int32_t number : numbers) uses[number] += each;
  };
  if (wanted.size() < declaring.size()) {
    for (const auto& [id, each] : wanted)
      if (const auto place = declaring.find(id); place != declaring.end()) count(place->second, each);
  } else {
    for (const auto& [id, numbers] : declaring)
      if (const auto place = wanted.find(id); place != wanted.end()) count(numbers, place->second);
  }
  const Excerpt& excerpt = facts_.excerpt(item);
  for (const auto& [number, each] : uses) {
    if (each == 0) continue;
    const std::int64_t chars = excerpt.exists ? excerpt.members[number].chars : facts_.lengths(item).declared;
    found.push_back({{item, number}, each, chars});
  }
}

}  // namespace megacpp
