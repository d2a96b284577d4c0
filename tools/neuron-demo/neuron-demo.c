// SPDX-License-Identifier: MIT
/*
 * neuron-demo: moves data through every Trainium device and verifies it.
 *
 * Random bytes go from host memory into HBM, from there to another place in
 * HBM, and back, by DMA. What has arrived is verified after each step: in HBM
 * through the CPU's own mapping, where there is one, so that the DMA engines do
 * not vouch for themselves.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "tool.h"

static const uint64_t sizes[] = { 4 << 10, 64 << 10, 1 << 20, 64 << 20 };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define MAX_SIZE (64u << 20)
#define FILL_PATTERN 0xa5c3f00d
#define COLUMNS "%-6s  %-22s  %8s  %10s  %8s  %10s  %s\n"

/**
 * struct chip - one device under test
 */
struct chip {
	unsigned int index;
	struct neuron_device *device;
	struct neuron_queue *queue;
	/** @from, @to: memory of the program, source and result */
	unsigned char *from, *to;
	struct neuron_buffer *host_in, *host_out;
	struct neuron_buffer *hbm_a, *hbm_b;
	unsigned int transfers, wrong;
};

static void show_devices(int count)
{
	struct table *table = table_new(">chip", "PCI address", "name", "serial", ">HBM", ">stacks",
					">cores", ">engines", "completion", "driver", NULL);
	struct neuron_device_info info;
	struct neuron_device *device;
	int i;

	for (i = 0; i < count; i++) {
		info.size = sizeof(info);
		if (neuron_device_open((uint32_t)i, &device) ||
		    neuron_device_get_info(device, &info))
			tool_die(TOOL_FAILED, "%s", neuron_last_error());
		table_cell(table, "%d", i);
		table_cell(table, "%s", info.pci_address);
		table_cell(table, "%s", info.name);
		table_cell(table, "%016" PRIx64, info.serial);
		table_cell(table, "%s", tool_bytes(info.hbm_size).text);
		table_cell(table, "%u", info.num_stacks);
		table_cell(table, "%u", info.num_cores);
		table_cell(table, "%u", info.num_engines);
		table_cell(table, info.num_vectors ? "interrupt" : "polling");
		table_cell(table, "%s %u.%u.%u", info.driver, info.driver_version[0],
			   info.driver_version[1], info.driver_version[2]);
		neuron_device_close(device);
	}
	table_print(table, stdout, 0);
	table_free(table);
}

/* What is in @buffer, for the CPU; @scratch is used when it cannot be mapped. */
static const unsigned char *view(struct neuron_buffer *buffer, unsigned char *scratch,
				 uint64_t size)
{
	void *data;

	if (!neuron_buffer_map(buffer, &data))
		return data;
	if (neuron_buffer_read(buffer, 0, scratch, size))
		tool_die_neuron("read");
	return scratch;
}

static void report(struct chip *chip, const char *what, uint64_t size, int64_t ns,
		   const void *got, uint32_t want)
{
	uint32_t crc = tool_crc(got, size);
	char number[12], sum[12];
	bool ok = crc == want;

	chip->transfers++;
	if (!ok)
		chip->wrong++;
	snprintf(number, sizeof(number), "%u", chip->index);
	snprintf(sum, sizeof(sum), "%08" PRIx32, crc);
	printf(COLUMNS, number, what, tool_bytes(size).text, tool_time(ns).text, sum,
	       tool_rate(size, ns).text, ok ? "ok" : "WRONG DATA");
	fflush(stdout);
}

/* One copy by DMA between two buffers, timed, its result verified. */
static void copy(struct chip *chip, const char *what, struct neuron_buffer *dst,
		 struct neuron_buffer *src, uint64_t size, uint32_t crc)
{
	unsigned char *scratch = chip->to;
	int64_t start = tool_now();
	int64_t end;

	if (neuron_queue_copy(chip->queue, dst, 0, src, 0, size))
		tool_die_neuron(what);
	end = tool_now();
	report(chip, what, size, end - start, view(dst, scratch, size), crc);
}

static void fill(struct chip *chip, uint64_t size)
{
	uint32_t pattern = FILL_PATTERN;
	int64_t start, end;
	uint64_t i;

	for (i = 0; i < size; i += sizeof(pattern))
		memcpy(chip->from + i, &pattern, sizeof(pattern));
	start = tool_now();
	if (neuron_queue_fill(chip->queue, chip->hbm_b, 0, size, pattern, sizeof(pattern)))
		tool_die_neuron("fill");
	end = tool_now();
	report(chip, "fill HBM", size, end - start, view(chip->hbm_b, chip->to, size),
	       tool_crc(chip->from, size));
}

static void user(struct chip *chip, uint64_t size, uint32_t crc)
{
	int64_t start, end;

	start = tool_now();
	if (neuron_buffer_write(chip->hbm_a, 0, chip->from, size))
		tool_die_neuron("write");
	end = tool_now();
	report(chip, "program -> HBM", size, end - start, view(chip->hbm_a, chip->to, size), crc);

	memset(chip->to, 0, size);
	start = tool_now();
	if (neuron_buffer_read(chip->hbm_a, 0, chip->to, size))
		tool_die_neuron("read");
	end = tool_now();
	report(chip, "HBM -> program", size, end - start, chip->to, crc);
}

static void one_size(struct chip *chip, uint64_t size)
{
	uint32_t crc;
	void *data;

	fill(chip, size);

	tool_random(chip->from, size, size + chip->index);
	crc = tool_crc(chip->from, size);
	if (neuron_buffer_map(chip->host_in, &data))
		tool_die_neuron("map");
	memcpy(data, chip->from, size);
	if (neuron_buffer_map(chip->host_out, &data))
		tool_die_neuron("map");
	memset(data, 0, size);

	copy(chip, "host -> HBM", chip->hbm_a, chip->host_in, size, crc);
	copy(chip, "HBM -> HBM", chip->hbm_b, chip->hbm_a, size, crc);
	copy(chip, "HBM -> host", chip->host_out, chip->hbm_b, size, crc);

	/* Other bytes, so that those of the copies before cannot pass for them. */
	tool_random(chip->from, size, ~size - chip->index);
	user(chip, size, tool_crc(chip->from, size));
}

static struct neuron_buffer *buffer(struct chip *chip, enum neuron_placement placement,
				    uint64_t size, uint32_t stack)
{
	struct neuron_buffer_options options = {
		.size = sizeof(options),
		.stack = placement == NEURON_HBM ? stack : NEURON_STACK_ANY,
	};
	struct neuron_buffer *out;

	if (neuron_buffer_create(chip->device, placement, size, &options, &out))
		tool_die_neuron("create of a buffer");
	return out;
}

/* Number of transfers that went wrong; adds those made to @transfers. */
static unsigned int run(unsigned int index, uint64_t max_size, unsigned int *transfers)
{
	struct neuron_device_info info = { .size = sizeof(info) };
	struct chip chip = { .index = index };
	unsigned int i;

	if (neuron_device_open(index, &chip.device) ||
	    neuron_device_get_info(chip.device, &info) ||
	    neuron_queue_create(chip.device, NULL, &chip.queue))
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	chip.from = malloc(max_size);
	chip.to = malloc(max_size);
	if (!chip.from || !chip.to)
		tool_die(TOOL_FAILED, "out of memory");
	/* Pages are there before the clock runs. */
	memset(chip.from, 1, max_size);
	memset(chip.to, 1, max_size);
	chip.host_in = buffer(&chip, NEURON_HOST, max_size, 0);
	chip.host_out = buffer(&chip, NEURON_HOST, max_size, 0);
	chip.hbm_a = buffer(&chip, NEURON_HBM, max_size, 0);
	chip.hbm_b = buffer(&chip, NEURON_HBM, max_size, info.num_stacks - 1);

	for (i = 0; i < SIZES; i++)
		if (sizes[i] <= max_size)
			one_size(&chip, sizes[i]);

	*transfers += chip.transfers;
	free(chip.from);
	free(chip.to);
	neuron_buffer_destroy(chip.host_in);
	neuron_buffer_destroy(chip.host_out);
	neuron_buffer_destroy(chip.hbm_a);
	neuron_buffer_destroy(chip.hbm_b);
	neuron_queue_destroy(chip.queue);
	neuron_device_close(chip.device);
	return chip.wrong;
}

static void usage(void)
{
	printf("usage: neuron-demo [OPTION]\n"
	       "\n"
	       "Moves data through every Trainium device and verifies it: host memory, HBM,\n"
	       "HBM again, host memory, in several sizes, with the checksum (CRC-32) of what\n"
	       "arrived and the rate.\n"
	       "\n"
	       "  -s, --max-size SIZE  largest transfer, 4K to 64M (default 64M)\n"
	       "  -h, --help           this text\n"
	       "  -V, --version        version\n"
	       "\n"
	       "Exit status: 0 all verified; 1 not; 2 wrong usage.\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "max-size", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	unsigned int transfers = 0, wrong = 0;
	uint64_t max_size = MAX_SIZE;
	int count, i, c;

	tool_name = "neuron-demo";
	while ((c = getopt_long(argc, argv, "s:hV", options, NULL)) != -1) {
		switch (c) {
		case 's':
			if (!tool_parse_size(optarg, &max_size) || max_size < sizes[0] ||
			    max_size > MAX_SIZE)
				tool_die(TOOL_USAGE, "size '%s': 4K to 64M are possible", optarg);
			break;
		case 'h':
			usage();
			return tool_finish(TOOL_OK);
		case 'V':
			tool_print_version();
			return tool_finish(TOOL_OK);
		default:
			tool_usage_error();
		}
	}
	if (optind < argc) {
		tool_warn("unexpected argument '%s'", argv[optind]);
		tool_usage_error();
	}

	count = neuron_enumerate(NULL, 0, 0);
	if (count <= 0)
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	show_devices(count);
	printf("\n" COLUMNS, "chip", "transfer", "size", "time", "crc32", "rate", "");
	printf(COLUMNS, "------", "----------------------", "--------", "----------", "--------",
	       "----------", "--");
	for (i = 0; i < count; i++)
		wrong += run((unsigned int)i, max_size, &transfers);
	if (wrong)
		printf("\n%u of %u transfers on %d chips delivered WRONG DATA\n", wrong, transfers,
		       count);
	else
		printf("\n%u transfers on %d chip%s, all verified\n", transfers, count,
		       count == 1 ? "" : "s");
	return tool_finish(wrong ? TOOL_FAILED : TOOL_OK);
}
