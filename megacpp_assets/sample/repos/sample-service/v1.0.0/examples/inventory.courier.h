// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
//
// Follows the layout of generated stubs, written by hand from:
//
//   message Item          { string sku = 1; uint count = 2; sint price = 3; }
//   message AdjustRequest { string sku = 1; sint delta = 2; }
//   message ListRequest   { string prefix = 1; }
//   message ListReply     { repeated Item items = 1; }
//   service Inventory {
//     Adjust(AdjustRequest) -> Item
//     List(ListRequest) -> ListReply
//   }
#ifndef COURIER_EXAMPLES_INVENTORY_COURIER_H_
#define COURIER_EXAMPLES_INVENTORY_COURIER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "courier/channel.h"
#include "courier/server.h"
#include "courier/wire.h"

namespace inventory {

#define INVENTORY_FIELD_(Type, name)                             \
 public:                                                         \
  const Type& name() const { return name##_; }                   \
  void set_##name(Type value) { name##_ = std::move(value); }    \
                                                                 \
 private:                                                        \
  Type name##_{};

class Item : public courier::Message {
  INVENTORY_FIELD_(std::string, sku)
  INVENTORY_FIELD_(std::uint64_t, count)
  INVENTORY_FIELD_(std::int64_t, price)

 protected:
  void WriteFields(courier::WireWriter* writer) const override {
    writer->Bytes(1, sku_);
    writer->UInt(2, count_);
    writer->SInt(3, price_);
  }
  void ReadField(courier::WireReader* reader) override {
    switch (reader->field()) {
      case 1:
        sku_ = reader->Bytes();
        break;
      case 2:
        count_ = reader->UInt();
        break;
      case 3:
        price_ = reader->SInt();
        break;
    }
  }
  void Clear() override { *this = Item(); }
};

class AdjustRequest : public courier::Message {
  INVENTORY_FIELD_(std::string, sku)
  INVENTORY_FIELD_(std::int64_t, delta)

 protected:
  void WriteFields(courier::WireWriter* writer) const override {
    writer->Bytes(1, sku_);
    writer->SInt(2, delta_);
  }
  void ReadField(courier::WireReader* reader) override {
    if (reader->field() == 1) sku_ = reader->Bytes();
    if (reader->field() == 2) delta_ = reader->SInt();
  }
  void Clear() override { *this = AdjustRequest(); }
};

class ListRequest : public courier::Message {
  INVENTORY_FIELD_(std::string, prefix)

 protected:
  void WriteFields(courier::WireWriter* writer) const override {
    writer->Bytes(1, prefix_);
  }
  void ReadField(courier::WireReader* reader) override {
    if (reader->field() == 1) prefix_ = reader->Bytes();
  }
  void Clear() override { prefix_.clear(); }
};

class ListReply : public courier::Message {
 public:
  const std::vector<Item>& items() const { return items_; }
  Item* add_items() { return &items_.emplace_back(); }

 protected:
  void WriteFields(courier::WireWriter* writer) const override {
    for (const Item& item : items_) writer->Sub(1, item);
  }
  void ReadField(courier::WireReader* reader) override {
    if (reader->field() == 1) reader->Sub(add_items());
  }
  void Clear() override { items_.clear(); }

 private:
  std::vector<Item> items_;
};

#undef INVENTORY_FIELD_

inline constexpr char kAdjustMethod[] = "/inventory.Inventory/Adjust";
inline constexpr char kListMethod[] = "/inventory.Inventory/List";

/// To be derived from by the implementation.
class InventoryService {
 public:
  virtual ~InventoryService() = default;

  virtual courier::Status Adjust(courier::ServerContext*, const AdjustRequest&,
                                 Item*) {
    return courier::Status(courier::Code::kUnimplemented, kAdjustMethod);
  }
  virtual courier::Status List(courier::ServerContext*, const ListRequest&,
                               ListReply*) {
    return courier::Status(courier::Code::kUnimplemented, kListMethod);
  }

  void RegisterWith(courier::MethodRegistry* registry) {
    registry->AddUnary(kAdjustMethod, this, &InventoryService::Adjust);
    registry->AddUnary(kListMethod, this, &InventoryService::List);
  }
};

class InventoryStub {
 public:
  explicit InventoryStub(courier::Channel* channel) : channel_(channel) {}

  courier::Status Adjust(const courier::ClientContext& context,
                         const AdjustRequest& request, Item* reply) {
    return channel_->BlockingCall(context, kAdjustMethod, request, reply);
  }
  courier::AsyncReply<Item> AsyncAdjust(const courier::ClientContext& context,
                                        const AdjustRequest& request,
                                        courier::CompletionQueue* queue,
                                        void* tag) {
    return courier::AsyncReply<Item>(channel_->StartCall(
        context, kAdjustMethod, request.Serialize(), queue, tag));
  }
  courier::Status List(const courier::ClientContext& context,
                       const ListRequest& request, ListReply* reply) {
    return channel_->BlockingCall(context, kListMethod, request, reply);
  }

 private:
  courier::Channel* channel_;
};

}  // namespace inventory

#endif  // COURIER_EXAMPLES_INVENTORY_COURIER_H_
