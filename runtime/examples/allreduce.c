// SPDX-License-Identifier: MIT
/*
 * All chips of the machine add up what each has.
 */
#include <stdio.h>

#include <neuron/neuron.h>

#define MAX_CHIPS 128
#define COUNT 1024u
#define SIZE (64u << 10)

static struct neuron_device *chip[MAX_CHIPS];
static struct neuron_comm *comm[MAX_CHIPS];
static struct neuron_buffer *buffer[MAX_CHIPS];
static struct neuron_request *request[MAX_CHIPS];

static int fail(const char *what)
{
	fprintf(stderr, "allreduce: %s: %s\n", what, neuron_last_error());
	return 1;
}

/* A buffer that all ranks know, full of the rank's number plus one */
static int make_buffer(uint32_t rank)
{
	struct neuron_buffer_options options = {
		.size = sizeof(options),
		.flags = NEURON_BUFFER_PEER,
		.stack = NEURON_STACK_ANY,
		.alignment = SIZE,
	};

	if (neuron_buffer_create(chip[rank], NEURON_HBM, SIZE, &options, &buffer[rank]) ||
	    neuron_buffer_fill(buffer[rank], 0, COUNT * 4, rank + 1, 4) ||
	    neuron_comm_register(comm[rank], buffer[rank]))
		return fail("buffer");
	return 0;
}

static int add_up(uint32_t chips)
{
	uint32_t rank, sum;

	/* In place, on all ranks; nothing has to wait for anything yet. */
	for (rank = 0; rank < chips; rank++) {
		struct neuron_comm_data data = {
			.src = buffer[rank],
			.dst = buffer[rank],
			.dtype = NEURON_DTYPE_UINT32,
		};

		if (neuron_comm_all_reduce(comm[rank], &data, COUNT, NULL, &request[rank]))
			return fail("all_reduce");
	}
	for (rank = 0; rank < chips; rank++) {
		if (neuron_request_wait(request[rank], NEURON_WAIT_FOREVER))
			return fail("wait");
		neuron_request_destroy(request[rank]);
		if (neuron_buffer_read(buffer[rank], (COUNT - 1) * 4, &sum, sizeof(sum)))
			return fail("read");
		if (sum != chips * (chips + 1) / 2)
			return fail("wrong");
	}
	printf("%u chips, sum %u everywhere\n", chips, sum);
	return 0;
}

int main(void)
{
	uint32_t chips = 0, rank;
	int ret = 0;

	while (chips < MAX_CHIPS && !neuron_device_open(chips, &chip[chips]))
		chips++;
	if (!chips || neuron_comm_init_all(chip, chips, NULL, comm))
		return fail("communicator");
	for (rank = 0; !ret && rank < chips; rank++)
		ret = make_buffer(rank);
	if (!ret)
		ret = add_up(chips);
	for (rank = 0; rank < chips; rank++) {
		neuron_comm_destroy(comm[rank]);
		neuron_buffer_destroy(buffer[rank]);
		neuron_device_close(chip[rank]);
	}
	return ret;
}
