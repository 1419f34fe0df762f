#pragma once
#include <memory>
#include <string>
#include <vector>
namespace sensor_msgs::msg
{
struct JointState
{
  using ConstSharedPtr = std::shared_ptr<const JointState>;
  struct {double stamp = 0.0;} header;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;
};
}  // namespace sensor_msgs::msg
