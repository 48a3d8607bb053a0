// Searches the context of one document after the other.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "facts.hpp"
#include "growth.hpp"
#include "state.hpp"
#include "values.hpp"

namespace megacpp {

// How far from a root declarations and bodies are shown, in edges; whether direct callers are context.
struct Reach {
  int declarations, bodies;
  bool callers;
};

// A root that is a part of a class, with the members that it shows.
struct Opened {
  Item item;
  Numbers members;
};

// What is one edge away: an item, its chunks that are used, and how often each is named.
struct Reached {
  Item item;
  std::vector<std::pair<std::int32_t, std::int64_t>> chunks;

  std::int64_t total() const;
  std::int64_t named(std::int32_t chunk) const;
};

// What is shown may need something else shown first, which again needs something. A tree may be made so that this would
// end only with the stack.
class Depth {
 public:
  explicit Depth(int& depth) : depth_(depth) {
    if (depth_ == kDeepest) throw std::length_error("what a document shows needs too much, one thing for the other");
    ++depth_;
  }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  ~Depth() { --depth_; }

 private:
  static constexpr int kDeepest = 400;
  int& depth_;
};

class Search {
 public:
  Search(Facts facts, Reach reach) : facts_(std::move(facts)), reach_(reach), state_(facts_.chunks()) {}

  // Choose the context of `roots`. Nothing that it shows is forgotten before the next call.
  void choose(const std::vector<Passage>& roots, const std::vector<Opened>& opened, Room room, Prices& prices,
              const Limits& limits);

  const State& state() const { return state_; }
  const Facts& facts() const { return facts_; }
  // The characters, by step of worth, that were taken without a price until all that the roots lacked was shown
  // together; none if it was not. They are not among those that the prices count.
  const std::map<double, std::int64_t>& completed() const { return completed_; }
  // The characters that `members` of a class take beyond those that are `shown`, or beyond its shortest form.
  std::int64_t chars_of(Item item, const Numbers& members, const Numbers& shown);
  // Whether an item is shown of which only some members may be.
  bool has_partial();

 private:
  class Trial;
  // Whether each offer is bought at its price, or shown whatever it costs.
  enum class How { kBought, kShown };
  struct Closure {
    Items items;
    std::int64_t chars, chunks;
  };
  // A member of a class, how often it is used, and its characters.
  struct UsedMember {
    Offer offer;
    std::int64_t uses, chars;
  };
  using Reserved = std::vector<std::pair<Item, std::int64_t>>;

  // purchases.cpp: an item in one of its forms together with everything that this form needs, or not at all.
  Items buy(const Offer& offer, const Growth& growth, double uses);
  Items show(const Offer& offer, const Growth& growth);
  Items obtain(How how, const Offer& offer, const Growth& growth, double uses);
  bool declares(const Offer& offer) const;
  bool take(const Closure& closure, const Growth& growth);
  void show_company(Item item, const Growth& growth);
  Closure closure(const Items& items, const Growth& growth, std::int64_t chars = 0, std::int64_t chunks = 0);
  Closure offered(const Offer& offer, const Growth& growth);
  Items note(const Offer& offer, const Growth& growth);
  Items show_special(Item item, const Growth& growth);
  void show_used(const Passage& body, const Growth& growth);
  void show_macro_alone(Item item, std::int64_t chars, const Growth& growth, std::int64_t uses);

  // permissions.cpp: what the limits of a document permit.
  bool is_refused(Item item);
  bool is_partial(Item item);
  bool may_open(const Offer& offer);
  bool may_show_bodies(Item item) const;

  // classes.cpp: classes with what must be complete for them, and with the members that a text uses.
  Items show_bases(Item item, const Growth& growth);
  Items show_overrides(Item item, Item base, const Growth& growth);
  Items define(const Items& classes, const Growth& growth);
  Offer definition(Item item);
  Items look_into(const Passage& passage, const Growth& growth, How how);
  Items show_class_of(const Passage& passage, const Growth& growth, How how, double uses);
  void show_members(const Items& classes, const Uses& wanted, const Growth& growth);
  std::vector<UsedMember> members_of(const Items& items, const Uses& wanted);
  void add_used(Item item, const Uses& wanted, std::vector<UsedMember>& found);
  Items completes(Item item, const Numbers* members);
  bool has_base(Item item, Item base);
  Items with_bases(const Items& classes);
  Numbers called(Item item, const Numbers* members);
  Numbers named(Item item, const Numbers& names);
  Numbers pure(Item item, const Numbers* members);
  Numbers virtuals(Item item, const Numbers& names);

  // needs.cpp: what roots are wrong without; bodies with the same.
  Items show_needed(const std::vector<Passage>& roots, const Growth& growth);
  Items show_own_of_part(const Passage& part, const Growth& growth);
  Items show_bases_of_root(Item item, const Growth& growth);
  Items show_macros(const Passage& passage, const Growth& growth);
  Items show_callers(const std::vector<Passage>& roots, const Growth& growth);
  Items show_bodies(const Reached& reached, const Growth& growth);
  Items show_evaluated(const Numbers& functions, const Growth& growth);
  Items show_evaluated_one(std::int32_t chunk, const Growth& growth);
  Items show_body(Item item, std::int32_t chunk, const Growth& growth);

  // search.cpp: the search itself.
  std::vector<Reached> reached_by(const std::vector<Target>& targets);
  std::vector<Target> targets_of(const std::vector<Passage>& roots);
  std::vector<const Reached*> ordered(const std::vector<Reached>& reached);
  Uses wanted_by(const std::vector<Passage>& roots);
  Reserved short_macros(const std::vector<const Reached*>& ordered);
  Items declare(const std::vector<const Reached*>& ordered, const Growth& growth);
  Items show_cheapest(const std::vector<Reached>& reached, const Uses& wanted, const Growth& growth,
                      Reserved& reserved);
  Items complete(const std::vector<Passage>& roots, const std::vector<const Reached*>& ordered, const Uses& wanted,
                 const Growth& growth);
  Items show_rest(const std::vector<Passage>& roots, const std::vector<const Reached*>& ordered, const Uses& wanted,
                  const Growth& growth);
  Items open_class(const Reached& reached, const Growth& growth);
  void release(Reserved& reserved, const Growth& growth);
  std::vector<Target> targets_behind(const Items& fresh);

  Facts facts_;
  Reach reach_;
  State state_;
  Limits limits_{};
  std::map<double, std::int64_t> completed_;
  int depth_ = 0;
};

// What is shown since it began is taken back unless it is accepted.
class Search::Trial {
 public:
  Trial(Search& search, const Growth& base)
      : state_(search.state_), base_(base), mark_(search.state_.mark()), room_(*base.room), growth_(base) {
    growth_.room = &room_;
    if (!base.is_whole) growth_.refused = &refused_;
  }
  // A trial at no price with room for `chars`. Any refusal in it fails all of it.
  Trial(Search& search, const Growth& base, std::int64_t chars) : Trial(search, base) {
    room_.chars = chars;
    growth_.prices = &free_;
    growth_.refused = &refused_;
    growth_.is_whole = true;
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (!is_accepted_) state_.undo(mark_);
  }

  const Growth& growth() const { return growth_; }
  Room& room() { return room_; }
  std::int64_t cost() const { return base_.room->chars - room_.chars; }

  // Keep what is shown if there was room for everything and if the `uses` that it explains are worth the price.
  bool accept(double uses) {
    const double worth = base_.worth(uses, cost());
    if (*growth_.refused > 0 || !base_.prices->is_affordable(worth, cost())) return false;
    base_.prices->take(worth, cost());
    *base_.room = room_;
    is_accepted_ = true;
    return true;
  }

 private:
  State& state_;
  const Growth& base_;
  std::size_t mark_;
  Room room_;
  int refused_ = 0;
  Prices free_;
  Growth growth_;
  bool is_accepted_ = false;
};

}  // namespace megacpp
