// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>
#include <thread>

#include "warehouse.h"

namespace {

using courier::Code;
using courier::Status;
using inventory::AdjustRequest;
using inventory::Item;

int failures = 0;

#define CHECK(condition)                                           \
  do {                                                             \
    if (!(condition)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      ++failures;                                                  \
    }                                                              \
  } while (false)

static_assert(courier::ZigZagEncode(-1) == 1, "");
static_assert(courier::ZigZagDecode(courier::ZigZagEncode(INT64_MIN)) ==
                  INT64_MIN,
              "");

void TestWire() {
  Item item;
  item.set_sku("bolt");
  item.set_count(300);
  item.set_price(-2);
  const std::string bytes = item.Serialize();
  CHECK(bytes == std::string("\x0a\x04" "bolt\x10\xac\x02\x18\x03"));
  Item copy;
  CHECK(copy.Parse(bytes) && copy.count() == 300 && copy.price() == -2);

  // Every cut either fails or ends at a field boundary.
  int accepted = 0;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    if (copy.Parse(bytes.substr(0, n))) ++accepted;
  }
  CHECK(accepted == 3);
  CHECK(copy.Parse("\x7a\x01?" + bytes) && copy.sku() == "bolt");
  CHECK(!copy.Parse("\x08\x01"));
  const std::string nines(9, '\xff');
  CHECK(copy.Parse("\x10" + nines + "\x01") && copy.count() == UINT64_MAX);
  CHECK(!copy.Parse("\x10" + nines + "\x02"));
  CHECK(!copy.Parse("\x10" + nines + "\x81\x01"));

  courier::Frame frame;
  frame.kind = courier::Frame::Kind::kReply;
  frame.metadata = {{"a", "1"}, {"b", ""}};
  frame.status = Status(Code::kNotFound, "gone");
  courier::Frame back;
  CHECK(back.Parse(frame.Serialize()));
  CHECK(back.metadata == frame.metadata && back.payload.empty());
  CHECK(back.status.code() == Code::kNotFound);
  CHECK(back.status.message() == "gone");
}

/// Posts a fixed tag.
class Marker : public courier::Completion {
 public:
  explicit Marker(int* tag) : tag_(tag) {}
  bool Finalize(void** tag, bool*) override {
    *tag = tag_;
    return true;
  }

 private:
  int* tag_;
};

void TestCompletionQueue() {
  using Result = courier::CompletionQueue::Result;
  using std::chrono::milliseconds;
  courier::CompletionQueue queue;
  int early = 0, late = 0;
  void* tag = nullptr;
  bool ok = false;
  queue.PostAt(courier::After(milliseconds(20)),
               std::make_shared<Marker>(&late));
  const auto dropped = queue.PostAt(courier::After(milliseconds(5)),
                                    std::make_shared<Marker>(&early));
  queue.CancelAlarm(dropped);
  CHECK(queue.NextUntil(courier::Clock::now(), &tag, &ok) == Result::kTimeout);
  queue.Post(std::make_shared<Marker>(&early), false);
  CHECK(queue.Next(&tag, &ok) && tag == &early && !ok);
  CHECK(queue.Next(&tag, &ok) && tag == &late && ok);
  queue.Post(std::make_shared<Marker>(&early), true);
  queue.Shutdown();
  CHECK(queue.Next(&tag, &ok));
  CHECK(!queue.Next(&tag, &ok));
}

/// Admits calls that carry the right token.
class TokenCheck : public courier::Interceptor {
 public:
  Status OnStart(courier::CallInfo* call) override {
    if (call->metadata["token"] == "sesame") return Status();
    return Status(Code::kUnauthenticated, "bad token");
  }
};

/// Adds the token, and counts how calls end.
class TokenAdder : public courier::Interceptor {
 public:
  Status OnStart(courier::CallInfo* call) override {
    call->metadata["token"] = token;
    return Status();
  }
  void OnFinish(const courier::CallInfo&, const Status& status) override {
    ++(status.ok() ? succeeded : failed);
  }
  std::string token = "sesame";
  std::atomic<int> succeeded{0};
  std::atomic<int> failed{0};
};

/// A warehouse whose adjustments wait for the caller to give up, if asked to.
class SlowWarehouse : public inventory::Warehouse {
 public:
  Status Adjust(courier::ServerContext* context, const AdjustRequest& request,
                Item* reply) override {
    while (request.sku() == "slow" && !context->IsCancelled()) {
      std::this_thread::yield();
    }
    return Warehouse::Adjust(context, request, reply);
  }
};

/// A server and a channel to it.
struct Rig {
  explicit Rig(courier::ServerOptions options = {}) : server(options) {
    warehouse.Stock("bolt", 10, 25);
    warehouse.RegisterWith(server.registry());
    server.AddInterceptor(std::make_shared<TokenCheck>());
    server.Start();
    auto ends = courier::ConnectInProcess();
    server.Connect(std::move(ends.second));
    channel = std::make_unique<courier::Channel>(std::move(ends.first));
    channel->AddInterceptor(tokens);
  }

  Status Adjust(const std::string& sku, std::int64_t delta, Item* item,
                const courier::ClientContext& context = {}) {
    AdjustRequest request;
    request.set_sku(sku);
    request.set_delta(delta);
    return inventory::InventoryStub(channel.get())
        .Adjust(context, request, item);
  }

  SlowWarehouse warehouse;
  courier::Server server;
  std::shared_ptr<TokenAdder> tokens = std::make_shared<TokenAdder>();
  std::unique_ptr<courier::Channel> channel;
};

void TestCalls() {
  Rig rig;
  Item item;
  CHECK(rig.Adjust("bolt", -4, &item).ok() && item.count() == 6);
  CHECK(rig.Adjust("bolt", -7, &item).code() == Code::kInvalidArgument);
  CHECK(rig.Adjust("rivet", 1, &item).message() == "rivet");
  CHECK(rig.channel->BlockingCall({}, "/no/such", item, &item).code() ==
        Code::kUnimplemented);
  rig.tokens->token = "guess";
  CHECK(rig.Adjust("bolt", 1, &item).code() == Code::kUnauthenticated);
  CHECK(rig.tokens->succeeded == 1 && rig.tokens->failed == 4);
}

void TestDeadlineAndCancel() {
  Rig rig;
  Item item;
  courier::ClientContext hurried;
  hurried.deadline = courier::After(std::chrono::milliseconds(15));
  CHECK(rig.Adjust("slow", 1, &item, hurried).code() ==
        Code::kDeadlineExceeded);

  courier::CompletionQueue queue;
  AdjustRequest request;
  request.set_sku("slow");
  int mark = 0;
  auto call = inventory::InventoryStub(rig.channel.get())
                  .AsyncAdjust({}, request, &queue, &mark);
  call.Cancel();
  void* tag = nullptr;
  bool ok = true;
  CHECK(queue.Next(&tag, &ok) && tag == &mark && !ok);
  CHECK(call.Get(&item).code() == Code::kCancelled);

  rig.server.Shutdown();
  CHECK(rig.Adjust("bolt", 1, &item).code() == Code::kUnavailable);
}

void TestOverload() {
  courier::ServerOptions options;
  options.max_active_calls = 1;
  Rig rig(options);
  courier::CompletionQueue queue;
  AdjustRequest request;
  request.set_sku("slow");
  auto busy = inventory::InventoryStub(rig.channel.get())
                  .AsyncAdjust({}, request, &queue, nullptr);
  Item item;
  CHECK(rig.Adjust("bolt", 1, &item).code() == Code::kResourceExhausted);
  busy.Cancel();
  while (rig.server.active_calls() > 0) std::this_thread::yield();
  CHECK(rig.Adjust("bolt", 1, &item).ok() && item.count() == 11);
}

void TestManyClients() {
  Rig rig;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&rig] {
      Item item;
      for (int i = 0; i < 100; ++i) rig.Adjust("bolt", 1, &item);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Item item;
  CHECK(rig.Adjust("bolt", 0, &item).ok() && item.count() == 410);
}

}  // namespace

int main() {
  TestWire();
  TestCompletionQueue();
  TestCalls();
  TestDeadlineAndCancel();
  TestOverload();
  TestManyClients();
  return failures == 0 ? 0 : 1;
}
