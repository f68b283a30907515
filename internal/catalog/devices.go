package catalog

import (
	"fmt"
	"os"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
)

// devices maps --device to what starts it.
var devices = map[string]func(threads int) (device.Backend, error){
	"cpu": func(threads int) (device.Backend, error) { return cpu.New(threads, os.Getenv(cpu.PathEnv)) },
}

// MaxThreads is the most threads that a device is started with.
const MaxThreads = 1024

// Device starts the device called name with threads threads (0: one a processor).
func Device(name string, threads int) (device.Backend, error) {
	start, ok := devices[name]
	if !ok {
		return nil, &UnknownError{"device", name, oneOf(devices)}
	}
	b, err := start(threads)
	if err != nil {
		return nil, fmt.Errorf("start device %s: %w", name, err)
	}
	return b, nil
}
