// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "granary/flat_hash_map.h"
#include "granary/inlined_vector.h"
#include "granary/mutex.h"
#include "granary/span.h"

namespace {

using granary::FlatHashMap;
using granary::InlinedVector;
using granary::Span;

/// Sends every key to one of four neighbouring slots, to exercise probing.
struct ClusterHash {
  std::size_t operator()(int key) const {
    return static_cast<std::size_t>(key & 3);
  }
};

template <typename Map>
void ChurnMap(Map* map) {
  for (int i = 0; i < 200; ++i) (*map)[i] = i * i;
  for (int i = 0; i < 200; i += 3) CHECK(map->erase(i));
  CHECK(!map->erase(0));
  CHECK(map->size() == 133);
  int seen = 0;
  for (const auto& entry : *map) {
    CHECK(entry.second == entry.first * entry.first);
    CHECK(entry.first % 3 != 0);
    ++seen;
  }
  CHECK(seen == 133);
  for (int i = 0; i < 200; ++i) CHECK(map->contains(i) == (i % 3 != 0));
}

void TestFlatHashMap() {
  FlatHashMap<int, int> spread;
  ChurnMap(&spread);
  FlatHashMap<int, int, ClusterHash> clustered;
  ChurnMap(&clustered);

  FlatHashMap<std::string, std::unique_ptr<int>> owners;
  CHECK(owners.find("absent") == owners.end());
  CHECK(owners.try_emplace("one", std::make_unique<int>(1)).second);
  CHECK(!owners.try_emplace("one", nullptr).second);
  CHECK(*owners.find(std::string_view("one"))->second == 1);
  FlatHashMap<std::string, std::unique_ptr<int>> moved(std::move(owners));
  CHECK(moved.size() == 1);
  moved.clear();
  CHECK(moved.empty() && moved.begin() == moved.end());
}

void TestReserveAndAssign() {
  FlatHashMap<int, std::string> map;
  map.reserve(500);
  const std::string* first = &map.insert_or_assign(0, "zero").first->second;
  for (int i = 1; i < 500; ++i) map[i] = std::to_string(i);
  CHECK(first == &map.find(0)->second);
  CHECK(!map.insert_or_assign(0, "nought").second);
  CHECK(*first == "nought" && map.size() == 500);
}

void TestInlinedVector() {
  InlinedVector<std::string, 2> names{"a", "b"};
  CHECK(names.is_inline());
  names.push_back(names[0]);
  CHECK(!names.is_inline() && names.back() == "a");
  InlinedVector<std::string, 2> copy = names;
  InlinedVector<std::string, 2> stolen = std::move(names);
  CHECK(stolen.size() == 3 && copy[1] == stolen[1]);
  copy = InlinedVector<std::string, 2>{"z"};
  CHECK(copy.is_inline() && copy.size() == 1);

  InlinedVector<std::unique_ptr<int>, 1> owners;
  for (int i = 0; i < 9; ++i) owners.push_back(std::make_unique<int>(i));
  CHECK(*owners.back() == 8 && owners.capacity() == 16);
}

int Total(Span<const int> values) {
  int total = 0;
  for (int value : values) total += value;
  return total;
}

void TestSpan() {
  std::vector<int> values{1, 2, 3, 4};
  const InlinedVector<int, 4> small{3, 4};
  int array[] = {5, 6};
  CHECK(Total(Span<const int>(values)) == 10);
  CHECK(Total(Span<const int>(small)) == 7);
  CHECK(Span<const int>(values).subspan(2) == Span<const int>(small));
  CHECK(Span<const int>(values).subspan(9).empty());
  const Span<int> writable = array;
  writable.front() = 1;
  CHECK(array[0] == 1 && Span(values).back() == 4);
}

void TestMutex() {
  granary::Guarded<FlatHashMap<int, int>> shared;
  granary::OnceFlag once;
  int initialised = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      once.Call([&] { ++initialised; });
      for (int i = 0; i < 500; ++i) {
        shared.With([i](FlatHashMap<int, int>& map) { ++map[i % 10]; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(initialised == 1);
  shared.With([](FlatHashMap<int, int>& map) {
    for (const auto& entry : map) CHECK(entry.second == 200);
  });
}

}  // namespace

int main() {
  TestFlatHashMap();
  TestReserveAndAssign();
  TestInlinedVector();
  TestSpan();
  TestMutex();
  return check::failures == 0 ? 0 : 1;
}
