#pragma once
#include <stdexcept>
#include <string>
namespace transmission_interface
{
class Handle
{
public:
  Handle(const std::string & prefix_name, const std::string & interface_name, double * value_ptr)
  : prefix_name_(prefix_name), interface_name_(interface_name), value_ptr_(value_ptr) {}
  virtual ~Handle() = default;
  inline operator bool() const {return value_ptr_ != nullptr;}
  const std::string get_name() const {return prefix_name_ + "/" + interface_name_;}
  const std::string & get_interface_name() const {return interface_name_;}
  const std::string & get_prefix_name() const {return prefix_name_;}
  double get_value() const
  {
    if (!value_ptr_) {throw std::runtime_error(get_name() + " has no value");}
    return *value_ptr_;
  }
  bool set_value(double value)
  {
    if (!value_ptr_) {throw std::runtime_error(get_name() + " has no value");}
    *value_ptr_ = value;
    return true;
  }

protected:
  std::string prefix_name_, interface_name_;
  double * value_ptr_ = nullptr;
};
class ActuatorHandle : public Handle {public: using Handle::Handle;};
class JointHandle : public Handle {public: using Handle::Handle;};
}  // namespace transmission_interface
