// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <neuron/neuron.h>

int main(void)
{
	struct neuron_device *device;
	struct neuron_buffer *a, *b;
	char text[32] = "";

	if (neuron_device_open(0, &device) ||
	    neuron_buffer_create(device, NEURON_HBM, 1 << 20, NULL, &a) ||
	    neuron_buffer_create(device, NEURON_HBM, 1 << 20, NULL, &b) ||
	    neuron_buffer_write(a, 0, "hello from HBM", 15) ||
	    neuron_buffer_copy(b, 4096, a, 0, 15) ||
	    neuron_buffer_read(b, 4096, text, 15)) {
		fprintf(stderr, "%s\n", neuron_last_error());
		return 1;
	}
	puts(text);
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
	neuron_device_close(device);
}
