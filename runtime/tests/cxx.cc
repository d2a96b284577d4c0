// SPDX-License-Identifier: MIT
/*
 * The library from C++: compiles, links, and finds the C symbols.
 */
#include <cstdio>
#include <cstring>

#include <neuron/neuron.h>

int main()
{
	neuron_device *device = nullptr;
	neuron_buffer *buffer = nullptr;
	neuron_buffer_options options = {};
	neuron_op op = {};

	options.size = sizeof(options);
	op.type = NEURON_OP_FILL;
	std::puts("1..3");
	std::printf("%sok 1 - version\n", std::strlen(neuron_version_string()) ? "" : "not ");
	bool failed = neuron_device_open_name("no such device", &device) < 0;
	std::printf("%sok 2 - error sentence\n", failed && *neuron_last_error() ? "" : "not ");
	failed = neuron_buffer_create(device, NEURON_HBM, 4096, &options, &buffer) < 0 &&
		 neuron_queue_run(nullptr, &op, 1, NEURON_WAIT_FOREVER) < 0;
	std::printf("%sok 3 - enums, structures, constants\n", failed ? "" : "not ");
	neuron_device_close(device);
	return 0;
}
