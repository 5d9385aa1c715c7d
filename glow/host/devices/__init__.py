"""Devices: managers behind one small protocol, `device.DeviceManager`."""
