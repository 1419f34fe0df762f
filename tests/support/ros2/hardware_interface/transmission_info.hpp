#pragma once
#include <string>
namespace hardware_interface
{
struct TransmissionInfo {std::string name, type;};
}  // namespace hardware_interface
