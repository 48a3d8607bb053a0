// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "relay/arena.hpp"
#include "relay/bits.hpp"
#include "relay/epoch.hpp"
#include "relay/future.hpp"
#include "relay/hash.hpp"

namespace {

int failures = 0;

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition);  \
      ++failures;                                                   \
    }                                                               \
  } while (false)

static_assert(relay::nextPowerOfTwo(17) == 32, "");
static_assert(relay::popcount(0xf0f0) == 8, "");
static_assert(relay::rotateLeft(1, 65) == 2, "");
static_assert(relay::alignUp(13, 8) == 16, "");

void testHash() {
  CHECK(relay::hashAll(1, 2) != relay::hashAll(2, 1));
  CHECK(relay::hashAll("ab", "c") != relay::hashAll("a", "bc"));
  // Flipping one input bit should change about half of the output.
  unsigned flipped = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    flipped += relay::popcount(relay::mix64(42) ^
                               relay::mix64(42 ^ (std::uint64_t{1} << bit)));
  }
  CHECK(flipped / 64 > 24 && flipped / 64 < 40);
}

void testArena() {
  std::string order;
  struct Tracer {
    Tracer(std::string* l, char n) : log(l), name(n) {}
    ~Tracer() { log->push_back(name); }
    std::string* log;
    char name;
  };
  relay::Arena arena(256);
  for (char name : {'a', 'b', 'c'}) arena.make<Tracer>(&order, name);
  CHECK(arena.intern("kept") == "kept");
  CHECK(reinterpret_cast<std::uintptr_t>(arena.allocate(1, 128)) % 128 == 0);
  arena.allocate(1000);
  CHECK(arena.blockCount() >= 2);
  arena.reset();
  CHECK(order == "cba" && arena.bytesUsed() == 0);
}

void testMoveFunction() {
  auto owned = std::make_unique<int>(20);
  relay::MoveFunction<int(int)> add = [owned = std::move(owned)](int n) {
    return *owned + n;
  };
  relay::MoveFunction<int(int)> moved = std::move(add);
  CHECK(!add && moved && moved(2) == 22);
  const std::vector<int> table(3, 7);
  char padding[100] = {1};
  moved = [table, padding](int n) { return table[0] * n + padding[0]; };
  CHECK(moved(6) == 43);
}

void testMpmcQueue() {
  relay::MpmcQueue<int> queue(8);
  std::atomic<int> sum{0};
  std::atomic<int> popped{0};
  constexpr int kEach = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 1; i <= kEach; ++i) {
        while (!queue.tryPush(int(i))) std::this_thread::yield();
      }
    });
    threads.emplace_back([&] {
      int value;
      while (popped.load() < 2 * kEach) {
        if (queue.tryPop(&value)) {
          sum += value;
          ++popped;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sum == kEach * (kEach + 1));
  int none;
  CHECK(!queue.tryPop(&none));
}

void testEpochs() {
  struct Config {
    explicit Config(int v) : version(v), copy(v) { ++alive(); }
    ~Config() {
      copy = -1;
      --alive();
    }
    static std::atomic<int>& alive() {
      static std::atomic<int> count{0};
      return count;
    }
    int version;
    int copy;
  };
  {
    relay::EpochDomain domain;
    relay::EpochPtr<Config> config(domain, new Config(0));
    std::atomic<bool> stop{false};
    std::atomic<int> torn{0};
    std::thread reader([&] {
      while (!stop) {
        relay::EpochDomain::Guard guard(domain);
        const Config* seen = config.load(guard);
        if (seen->version != seen->copy) ++torn;
      }
    });
    for (int v = 1; v <= 300; ++v) {
      config.replace(new Config(v));
      domain.collect();
    }
    stop = true;
    reader.join();
    domain.collect();
    CHECK(torn == 0 && domain.pendingCount() == 0);

    relay::EpochDomain::Guard guard(domain);
    config.replace(new Config(301));
    CHECK(domain.collect() == 0 && domain.pendingCount() == 1);
  }
  CHECK(Config::alive() == 0);
}

void testFutures() {
  relay::ThreadPool pool(2);
  const std::string text =
      relay::async(&pool, [] { return 6; })
          .then([](int n) { return n * 7; })
          .then([&](int n) {
            return relay::async(&pool, [n] { return std::to_string(n); });
          })
          .get();
  CHECK(text == "42");

  bool skipped = true;
  const int recovered =
      relay::makeFuture(1)
          .then([](int) -> int { throw std::runtime_error("no"); })
          .then([&](int n) {
            skipped = false;
            return n;
          })
          .onError([](std::exception_ptr) { return -1; })
          .get();
  CHECK(recovered == -1 && skipped);

  bool broken = false;
  auto dropped = std::make_unique<relay::Promise<int>>();
  relay::Future<int> orphan = dropped->getFuture();
  CHECK(!orphan.isReady());
  dropped.reset();
  try {
    std::move(orphan).get();
  } catch (const relay::BrokenPromise&) {
    broken = true;
  }
  CHECK(broken);

  std::vector<relay::Future<int>> parts;
  for (int i = 0; i < 50; ++i) {
    parts.push_back(relay::async(&pool, [i] { return i; }));
  }
  const std::vector<int> all = relay::collectAll(std::move(parts)).get();
  for (int i = 0; i < 50; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
  pool.stop();
  CHECK(pool.tasksRun() >= 52);
}

}  // namespace

int main() {
  testHash();
  testArena();
  testMoveFunction();
  testMpmcQueue();
  testEpochs();
  testFutures();
  return failures == 0 ? 0 : 1;
}
