#pragma once
#include <functional>
#include <memory>
#include <string>
namespace rclcpp
{
template<class Message>
struct Publisher
{
  using SharedPtr = std::shared_ptr<Publisher>;
  void publish(const Message &) {}
};
template<class Message>
struct Subscription {using SharedPtr = std::shared_ptr<Subscription>;};
class Node
{
public:
  explicit Node(const std::string &) {}
  template<class Message>
  std::shared_ptr<Publisher<Message>> create_publisher(const std::string &, int)
  {
    return std::make_shared<Publisher<Message>>();
  }
  template<class Message>
  std::shared_ptr<Subscription<Message>> create_subscription(
    const std::string &, int, std::function<void(std::shared_ptr<const Message>)>)
  {
    return std::make_shared<Subscription<Message>>();
  }
};
inline void init(int, char **) {}
inline void spin(std::shared_ptr<Node>) {}
inline void shutdown() {}
}  // namespace rclcpp
