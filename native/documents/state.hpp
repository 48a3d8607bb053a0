// What a document shows so far. Every change can be taken back, so that an offer can be tried.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "values.hpp"

namespace megacpp {

class State {
 public:
  explicit State(std::size_t chunks) : distance_(chunks, kUnseen), is_head_(chunks, false) {}

  // Forget everything.
  void clear() { undo(0); }

  // The edges between an item and the nearest root; roots have 0.
  int distance(Item item) const { return distance_[item]; }
  bool shows(Item item) const { return distance_[item] != kUnseen; }
  // Whether it is shown as context, not as a root.
  bool is_context(Item item) const { return distance_[item] > 0; }
  // Whether of a class only the head is shown, or the head and some members.
  bool is_head(Item item) const { return is_head_[item]; }
  // The shown bodies of an item.
  const Numbers& whole(Item item) const { return found(whole_, item); }
  // The shown members of a class; none if it is not shown by members.
  const Numbers& members(Item item) const { return found(members_, item); }
  bool has_members(Item item) const { return members_.contains(item); }

  // Items in the order in which they were shown.
  const Items& order() const { return order_; }
  // Classes that are shown by members, in the order of their first ones.
  Items with_members() const {
    Items result;
    for (const Item item : member_order_)
      if (has_members(item)) result.push_back(item);
    return result;
  }

  void show(Item item, int distance) {
    distance_[item] = distance;
    order_.push_back(item);
    changes_.push_back({Change::kShown, item, {}});
  }

  void set_head(Item item, bool is_head) {
    if (is_head_[item] == is_head) return;
    is_head_[item] = is_head;
    changes_.push_back({Change::kHead, item, {}});
  }

  void show_body(Item item, std::int32_t number) {
    changes_.push_back({Change::kBodies, item, whole(item)});
    whole_[item] = joined(whole(item), {number});
  }

  void set_members(Item item, Numbers numbers) {
    const bool is_new = !has_members(item);
    changes_.push_back({is_new ? Change::kFirstMembers : Change::kMembers, item, members(item)});
    if (is_new) member_order_.push_back(item);
    members_[item] = std::move(numbers);
  }

  void drop_members(Item item) {
    if (!has_members(item)) return;
    changes_.push_back({Change::kMembers, item, members(item)});
    members_.erase(item);
  }

  // The number of changes so far.
  std::size_t mark() const { return changes_.size(); }

  // Take back all changes behind a mark.
  void undo(std::size_t mark) {
    while (changes_.size() > mark) {
      Change& last = changes_.back();
      take_back(last);
      changes_.pop_back();
    }
  }

 private:
  static constexpr int kUnseen = -1;

  struct Change {
    enum Kind { kShown, kHead, kBodies, kMembers, kFirstMembers } kind;
    Item item;
    Numbers before;
  };

  void take_back(Change& change) {
    const Item item = change.item;
    switch (change.kind) {
      case Change::kShown:
        distance_[item] = kUnseen;
        order_.pop_back();
        break;
      case Change::kHead: is_head_[item] = !is_head_[item]; break;
      case Change::kBodies:
        if (change.before.empty())
          whole_.erase(item);
        else
          whole_[item] = std::move(change.before);
        break;
      case Change::kMembers: members_[item] = std::move(change.before); break;
      case Change::kFirstMembers:
        members_.erase(item);
        member_order_.pop_back();
        break;
    }
  }

  static const Numbers& found(const std::unordered_map<Item, Numbers>& all, Item item) {
    static const Numbers kNothing;
    const auto each = all.find(item);
    return each == all.end() ? kNothing : each->second;
  }

  std::vector<int> distance_;
  std::vector<bool> is_head_;
  std::unordered_map<Item, Numbers> whole_, members_;
  Items order_, member_order_;
  std::vector<Change> changes_;
};

}  // namespace megacpp
