// Drives a generated transmission: reads theta, rates and torques of motors, writes what its joints
// have, then sends the same back as commands. Counts allocations meanwhile.
#include <cstdio>
#include <cstdlib>
#include <new>

#include PACKAGE_SOURCE

static long allocations = 0;
void * operator new(std::size_t size)
{
  ++allocations;
  return std::malloc(size);
}
void operator delete(void * place) noexcept {std::free(place);}
void operator delete(void * place, std::size_t) noexcept {std::free(place);}

int main()
{
  using namespace PACKAGE;
  static double motors[3][K], joints[3][K];
  std::vector<transmission_interface::ActuatorHandle> actuator_handles;
  std::vector<transmission_interface::JointHandle> joint_handles;
  for (std::size_t f = 0; f < 3; ++f) {
    for (std::size_t i = K; i-- > 0; ) {
      actuator_handles.emplace_back(MOTORS[i], INTERFACES[f], &motors[f][i]);
      joint_handles.emplace_back(JOINTS[i], INTERFACES[f], &joints[f][i]);
    }
  }
  Loader loader;
  auto transmission = loader.load({"drive", "", {}, {}, {}});
  transmission->configure(joint_handles, actuator_handles);
  for (;; ) {
    for (auto & row : motors) {
      for (double & value : row) {
        if (std::scanf("%lf", &value) != 1) {return 0;}
      }
    }
    allocations = 0;
    transmission->actuator_to_joint();
    double found[3][K];
    for (std::size_t f = 0; f < 3; ++f) {
      for (std::size_t i = 0; i < K; ++i) {
        found[f][i] = joints[f][i];
        motors[f][i] = 0.0;
      }
    }
    transmission->joint_to_actuator();
    const long used = allocations;
    for (auto & row : found) {
      for (double value : row) {std::printf("%.17g ", value);}
    }
    for (auto & row : motors) {
      for (double value : row) {std::printf("%.17g ", value);}
    }
    std::printf("%ld\n", used);
  }
}
