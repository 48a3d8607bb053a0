// What is known of the items of a repository. Python computes it where it is first asked for; the answers are kept.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "values.hpp"

namespace megacpp {

// What shows an item shortest: the item that declares it, the characters of that form and of the conditions around it,
// its chunks, and whether it is the head of a class.
struct Shortest {
  Item item;
  std::int64_t chars, around;
  std::int32_t chunks;
  bool is_head;
};

struct Lengths {
  std::int64_t least, declared, whole, around;
  std::int32_t level;  // the dependency level of its unit
};

// A member of a class. Names are numbers; `called` is the name of a function, 0 for others.
struct Member {
  std::int64_t chars, label_chars;
  std::int32_t label, called;
  bool is_virtual;
};

// The members of a class, and the characters of its head with its brace beyond its shortest form.
struct Excerpt {
  bool exists = false;
  std::int64_t opening = 0;
  std::vector<Member> members;
};

struct ClassUse {
  Item item;
  std::int64_t uses;
  std::vector<std::pair<std::int32_t, std::int64_t>> members;  // each with how often it is used
  bool is_complete;
};

// What a passage says of classes; see `Look` in looks.py.
struct Look {
  std::vector<ClassUse> classes;
  Items passed;
  std::vector<Offer> overridden;
  Numbers implied;  // names
};

// What comes with an item beyond what its text names; see `Company` in facts.py.
struct Company {
  bool is_variable, is_unnamed, has_code;
  Items completed;
  Uses wanted;
  std::vector<Offer> filled;
  Item holder;
  Uses own;
  Numbers evaluated;
  Item ahead;
  std::vector<Offer> qualified;
};

// The macros on which the conditions around a macro depend, and those of them that the conditions call.
struct Asked {
  Items all, called;
};

// A chunk that another one uses, and whether that one names it.
struct Target {
  Item item;
  std::int32_t chunk;
  bool is_named;
};

struct Holder {
  Item item;      // the class of a member that is defined outside of it, or none
  bool is_inner;  // whether that class is a member of another one, defined outside of it
};

// The passage whose five values Python gives.
Passage passage_of(nanobind::handle place);

using ByMember = std::vector<std::pair<std::int32_t, Items>>;
using OffersByMember = std::vector<std::pair<std::int32_t, std::vector<Offer>>>;

template <typename Key, typename Value, typename Hash = std::hash<Key>>
class Cache {
 public:
  // References stay valid until `limit`.
  template <typename Make>
  const Value& get(const Key& key, Make&& make) {
    const auto found = values_.find(key);
    return found != values_.end() ? found->second : values_.emplace(key, make()).first->second;
  }

  void limit(std::size_t most) {
    if (values_.size() > most) values_.clear();
  }

 private:
  std::unordered_map<Key, Value, Hash> values_;
};

class Facts {
 public:
  // `source` is a `ContextFacts`; `items` and `ends` have, for each chunk, the first chunk of its item and the end.
  Facts(nanobind::object source, Items items, Numbers ends)
      : source_(std::move(source)), items_(std::move(items)), ends_(std::move(ends)) {}

  std::size_t chunks() const { return items_.size(); }
  Item of(std::int32_t chunk) const { return items_[chunk]; }
  std::int32_t end(Item item) const { return ends_[item]; }
  Passage passage(Item item) const { return {item, ends_[item]}; }

  // Forget answers if there are many. No reference to one may be in use.
  void limit();

  const Shortest& shortest(Item item);
  const Lengths& lengths(Item item);
  const Items& needed(Item item);
  const Items& members_need(Item item);
  const Items& body_needs(std::int32_t chunk);
  std::int64_t body_chars(std::int32_t chunk);
  bool is_alone(Item item);
  const Company& company(Item item);
  bool is_unusable(Item item, bool is_c);
  bool has_partial(Item item);
  bool is_unresolved(Item item);
  bool is_macro(Item item);
  const Asked& asked_around(Item item);
  const Numbers& bodies(Item item);
  const Holder& holder(Item item);
  const Uses& own(Item item);

  const Excerpt& excerpt(Item item);
  const std::unordered_map<std::uint64_t, Numbers>& declaring(Item item);
  const std::vector<Numbers>& pure(Item item);
  const ByMember& completing(Item item);
  const OffersByMember& inside(Item item);
  const Numbers& with_named(const Offer& offer);
  const Items& named_by(Item item, const Numbers& members);
  const Items& specialised(Item item);
  const std::vector<std::pair<std::int32_t, std::vector<Passage>>>& bodies_within(Item item);
  const Items& used_classes(std::int32_t chunk);
  const Numbers& constructors(Item item);
  const Items& passed_to(const Offer& offer);

  const Look& look(const Passage& passage);
  const Uses& used(const Passage& passage);
  const Items& macros(const Passage& passage);
  const Numbers& evaluated(const Passage& passage);
  const Numbers& deduced(const Passage& passage);
  const std::vector<Target>& targets(std::int32_t chunk);
  std::vector<Target> targets_in(const Passage& passage);
  const Numbers& callers(std::int32_t chunk);
  std::int64_t chunk_chars(std::int32_t chunk) const;
  // What functions with a name are found by where one overrides the other: the name, or that they are destructors.
  std::int32_t role(std::int32_t name) const { return roles_[name]; }
  Numbers roles(const Numbers& names) const;

 private:
  template <typename... Arguments>
  nanobind::object ask(const char* name, const Arguments&... arguments) const;
  std::int32_t name_of(nanobind::handle text);
  Numbers names_of(nanobind::handle texts);
  Excerpt read_excerpt(nanobind::handle found);
  Look read_look(nanobind::handle found);
  Company read_company(nanobind::handle found);

  nanobind::object source_;
  Items items_;
  Numbers ends_;
  std::unordered_map<std::string, std::int32_t> names_{{"", 0}, {"~", 1}};
  Numbers roles_{0, 1};

  template <typename Value>
  using ByItem = Cache<Item, Value>;
  template <typename Value>
  using ByPassage = Cache<Passage, Value, HashOfPassage>;
  template <typename Value>
  using ByOffer = Cache<Offer, Value, HashOfOffer>;
  struct HashOfNumbers {
    std::size_t operator()(const Numbers& numbers) const {
      std::uint64_t hash = numbers.size();
      for (const std::int32_t each : numbers) hash = hash * 0x9E3779B97F4A7C15u + static_cast<std::uint32_t>(each);
      return hash;
    }
  };

  ByItem<Shortest> shortest_;
  ByItem<Lengths> lengths_;
  ByItem<Items> needed_, members_need_, body_needs_, specialised_, used_classes_;
  ByItem<Asked> asked_around_;
  ByItem<std::int64_t> body_chars_;
  ByItem<bool> is_alone_, is_unusable_, is_unusable_in_c_, has_partial_, is_unresolved_, is_macro_;
  ByItem<Company> company_;
  ByItem<Numbers> bodies_, constructors_, callers_;
  ByItem<Holder> holder_;
  ByItem<Uses> own_;
  ByItem<Excerpt> excerpt_;
  ByItem<std::unordered_map<std::uint64_t, Numbers>> declaring_;
  ByItem<std::vector<Numbers>> pure_;
  ByItem<ByMember> completing_;
  ByItem<OffersByMember> inside_;
  ByItem<std::vector<std::pair<std::int32_t, std::vector<Passage>>>> bodies_within_;
  ByItem<std::vector<Target>> targets_;
  ByOffer<Numbers> with_named_;
  ByOffer<Items> passed_to_;
  Cache<Numbers, Items, HashOfNumbers> named_by_;
  ByPassage<Look> look_;
  ByPassage<Uses> used_;
  ByPassage<Items> macros_;
  ByPassage<Numbers> evaluated_, deduced_;
};

}  // namespace megacpp
