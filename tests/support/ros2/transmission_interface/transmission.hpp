#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>
namespace transmission_interface
{
class Handle
{
public:
  Handle(const std::string & prefix, const std::string & interface, double * value)
  : prefix_(prefix), interface_(interface), value_(value) {}
  const std::string & get_prefix_name() const {return prefix_;}
  const std::string & get_interface_name() const {return interface_;}
  double get_value() const {return *value_;}
  void set_value(double value) {*value_ = value;}

private:
  std::string prefix_, interface_;
  double * value_;
};
class ActuatorHandle : public Handle {public: using Handle::Handle;};
class JointHandle : public Handle {public: using Handle::Handle;};
class Transmission
{
public:
  virtual ~Transmission() = default;
  virtual void configure(
    const std::vector<JointHandle> & joints, const std::vector<ActuatorHandle> & actuators) = 0;
  virtual void actuator_to_joint() = 0;
  virtual void joint_to_actuator() = 0;
  virtual std::size_t num_actuators() const = 0;
  virtual std::size_t num_joints() const = 0;
};
}  // namespace transmission_interface
