// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/mock.h"

#include <string>

#include "verity/test.h"

namespace {

using verity::_;
using verity::Gt;
using verity::HasSubstr;
using verity::Return;

/// Where a thermostat reads from and writes to.
class Plant {
 public:
  virtual ~Plant() = default;
  virtual double Temperature() = 0;
  virtual bool SetHeater(int level) = 0;
  virtual void Log(const std::string& text, int urgency) = 0;
};

class MockPlant : public Plant {
 public:
  MOCK_METHOD0(double, Temperature, override)
  MOCK_METHOD1(bool, SetHeater, int, override)
  MOCK_METHOD2(void, Log, const std::string&, int, override)
};

class Thermostat {
 public:
  explicit Thermostat(Plant* plant) : plant_(plant) {}

  void Step(double target) {
    const double gap = target - plant_->Temperature();
    if (gap <= 0) {
      Apply(0);
    } else {
      Apply(gap > 5 ? 3 : 1);
    }
  }

 private:
  void Apply(int level) {
    if (!plant_->SetHeater(level)) plant_->Log("heater refused", level + 1);
  }

  Plant* plant_;
};

class ThermostatTest : public verity::Test {
 protected:
  void SetUp() override {
    EXPECT_CALL0(plant_, Temperature).WillRepeatedly(Return(18.0));
  }

  MockPlant plant_;
  Thermostat thermostat_{&plant_};
};

TEST_F(ThermostatTest, HeatsHarderWhenFarFromTheTarget) {
  EXPECT_CALL(plant_, SetHeater, 3).WillOnce(Return(true));
  thermostat_.Step(25.0);
}

TEST_F(ThermostatTest, TurnsOffAboveTheTarget) {
  EXPECT_CALL(plant_, SetHeater, 0).WillOnce(Return(true));
  thermostat_.Step(10.0);
}

TEST_F(ThermostatTest, LogsARefusal) {
  int logged = 0;
  EXPECT_CALL(plant_, SetHeater, _).WillOnce(Return(false));
  EXPECT_CALL(plant_, Log, HasSubstr("refused"), Gt(0))
      .WillOnce(verity::CountIn(&logged));
  thermostat_.Step(19.0);
  EXPECT_EQ(logged, 1);
}

TEST(MockFunctionTest, ActionsRunInOrder) {
  verity::MockFunction<int(int)> function("Next");
  function.Expect(__FILE__, __LINE__, _)
      .WillOnce(Return(1))
      .WillOnce([](int n) { return n * 10; })
      .WillRepeatedly(Return(-1));
  EXPECT_EQ(function.Call(7), 1);
  EXPECT_EQ(function.Call(7), 70);
  EXPECT_EQ(function.Call(7), -1);
}

TEST(MockFunctionTest, ReportsMissingAndUnexpectedCalls) {
  verity::ScopedFailures failures;
  {
    verity::MockFunction<void(int, std::string)> function("Send");
    function.Expect(__FILE__, __LINE__, 1, "a").Times(2);
    function.Call(1, "a");
    function.Call(2, "b");
  }
  const auto seen = failures.Take();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[0].text, HasSubstr("unexpected call: Send(2, \"b\")"));
  EXPECT_THAT(seen[1].text, HasSubstr("expected 2 call(s) of Send, saw 1"));
}

}  // namespace
