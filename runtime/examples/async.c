// SPDX-License-Identifier: MIT
/*
 * Two queues at work side by side. One fills a buffer in HBM block by block,
 * the other fetches each block to the host as soon as its fill has ended: the
 * fences of the first queue are what the second one waits for. The program
 * only waits at the very end.
 */
#include <stdio.h>
#include <string.h>

#include <neuron/neuron.h>

#define BLOCKS 16
#define BLOCK_SIZE (1u << 20)

static int fail(const char *what)
{
	fprintf(stderr, "async: %s: %s\n", what, neuron_last_error());
	return 1;
}

static int verify(const unsigned char *data)
{
	unsigned int block, i;

	for (block = 0; block < BLOCKS; block++)
		for (i = 0; i < BLOCK_SIZE; i++)
			if (data[block * BLOCK_SIZE + i] != block + 1)
				return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct neuron_fence *filled[BLOCKS], *fetched[BLOCKS];
	struct neuron_buffer *hbm, *host;
	struct neuron_queue *fill, *fetch;
	struct neuron_device *device;
	unsigned int i;
	void *data;

	if (neuron_device_open_name(argc > 1 ? argv[1] : "0", &device))
		return fail("open");
	if (neuron_queue_create(device, NULL, &fill) || neuron_queue_create(device, NULL, &fetch))
		return fail("queues");
	if (neuron_buffer_create(device, NEURON_HBM, BLOCKS * BLOCK_SIZE, NULL, &hbm) ||
	    neuron_buffer_create(device, NEURON_HOST, BLOCKS * BLOCK_SIZE, NULL, &host) ||
	    neuron_buffer_map(host, &data))
		return fail("buffers");

	for (i = 0; i < BLOCKS; i++) {
		const struct neuron_op set = {
			.type = NEURON_OP_FILL,
			.dst = hbm,
			.dst_offset = (uint64_t)i * BLOCK_SIZE,
			.size = BLOCK_SIZE,
			.pattern = i + 1,
			.pattern_size = 1,
		};
		const struct neuron_op get = {
			.type = NEURON_OP_COPY,
			.dst = host,
			.dst_offset = (uint64_t)i * BLOCK_SIZE,
			.src = hbm,
			.src_offset = (uint64_t)i * BLOCK_SIZE,
			.size = BLOCK_SIZE,
		};

		if (neuron_queue_submit(fill, &set, 1, NULL, 0, &filled[i]) ||
		    neuron_queue_submit(fetch, &get, 1, &filled[i], 1, &fetched[i]))
			return fail("submit");
	}
	for (i = 0; i < BLOCKS; i++)
		if (neuron_fence_wait(fetched[i], 10000000000))
			return fail("wait");
	if (verify(data)) {
		fprintf(stderr, "async: wrong data\n");
		return 1;
	}
	printf("%u blocks of %u bytes filled and fetched by two queues\n", BLOCKS, BLOCK_SIZE);

	for (i = 0; i < BLOCKS; i++) {
		neuron_fence_destroy(filled[i]);
		neuron_fence_destroy(fetched[i]);
	}
	neuron_buffer_destroy(hbm);
	neuron_buffer_destroy(host);
	neuron_queue_destroy(fill);
	neuron_queue_destroy(fetch);
	neuron_device_close(device);
	return 0;
}
