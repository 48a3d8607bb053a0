// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0

// Serves an inventory inside the process and works on it with many calls in
// flight at once.
#include <cstdio>
#include <vector>

#include "warehouse.h"

namespace {

/// Prints every call that fails, as seen from where it is added.
class FailureLog : public courier::Interceptor {
 public:
  void OnFinish(const courier::CallInfo& call,
                const courier::Status& status) override {
    if (status.ok()) return;
    std::printf("%s failed with code %d: %s\n", call.method.c_str(),
                static_cast<int>(status.code()), status.message().c_str());
  }
};

// Sells one unit per call, without waiting in between. Gives the number sold.
int SellMany(inventory::InventoryStub* stub, const char* sku, int attempts) {
  courier::CompletionQueue queue;
  std::vector<courier::AsyncReply<inventory::Item>> calls;
  inventory::AdjustRequest request;
  request.set_sku(sku);
  request.set_delta(-1);
  for (int i = 0; i < attempts; ++i) {
    calls.push_back(stub->AsyncAdjust({}, request, &queue, nullptr));
  }
  int sold = 0;
  for (int i = 0; i < attempts; ++i) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    if (ok) ++sold;
  }
  return sold;
}

void PrintStock(const inventory::ListReply& stock) {
  for (const inventory::Item& item : stock.items()) {
    std::printf("%-8s %4llu at %lld\n", item.sku().c_str(),
                static_cast<unsigned long long>(item.count()),
                static_cast<long long>(item.price()));
  }
}

}  // namespace

int main() {
  inventory::Warehouse warehouse;
  warehouse.Stock("nut-m4", 30, 12);
  warehouse.Stock("nut-m6", 5, 19);
  warehouse.Stock("washer", 100, -1);

  courier::Server server;
  warehouse.RegisterWith(server.registry());
  server.Start();
  auto [client_end, server_end] = courier::ConnectInProcess();
  server.Connect(std::move(server_end));

  courier::Channel channel(std::move(client_end));
  channel.AddInterceptor(std::make_shared<FailureLog>());
  inventory::InventoryStub stub(&channel);
  const int sold = SellMany(&stub, "nut-m6", 8);

  inventory::ListRequest request;
  request.set_prefix("nut");
  inventory::ListReply stock;
  const courier::Status listed = stub.List({}, request, &stock);
  PrintStock(stock);
  return listed.ok() && sold == 5 && stock.items().size() == 2 ? 0 : 1;
}
