// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef COURIER_EXAMPLES_WAREHOUSE_H_
#define COURIER_EXAMPLES_WAREHOUSE_H_

#include <map>
#include <mutex>
#include <string>

#include "inventory.courier.h"

namespace inventory {

/// Keeps the stock in memory. Counts never drop below zero.
class Warehouse : public InventoryService {
 public:
  void Stock(const std::string& sku, std::uint64_t count, std::int64_t price) {
    std::lock_guard<std::mutex> lock(mutex_);
    Item& item = items_[sku];
    item.set_sku(sku);
    item.set_count(count);
    item.set_price(price);
  }

  courier::Status Adjust(courier::ServerContext*, const AdjustRequest& request,
                         Item* reply) override {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto it = items_.find(request.sku());
    if (it == items_.end()) {
      return courier::Status(courier::Code::kNotFound, request.sku());
    }
    const auto after =
        static_cast<std::int64_t>(it->second.count()) + request.delta();
    if (after < 0) {
      return courier::Status(courier::Code::kInvalidArgument, "out of stock");
    }
    it->second.set_count(static_cast<std::uint64_t>(after));
    *reply = it->second;
    return courier::Status();
  }

  courier::Status List(courier::ServerContext*, const ListRequest& request,
                       ListReply* reply) override {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string& prefix = request.prefix();
    for (auto it = items_.lower_bound(prefix); it != items_.end(); ++it) {
      if (it->first.compare(0, prefix.size(), prefix) != 0) break;
      *reply->add_items() = it->second;
    }
    return courier::Status();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Item> items_;
};

}  // namespace inventory

#endif  // COURIER_EXAMPLES_WAREHOUSE_H_
