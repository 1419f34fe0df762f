#pragma once
#define PLUGINLIB_EXPORT_CLASS(Derived, Base) static_assert(sizeof(static_cast<Base *>(nullptr) == static_cast<Derived *>(nullptr)) > 0, "");
