// SPDX-License-Identifier: MIT
/*
 * neuron-top: what the Trainium devices do, live.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

static void print_usage(void)
{
	printf("usage: neuron-top [OPTION]\n"
	       "\n"
	       "Shows live what the Trainium devices do, and for whom.\n"
	       "\n"
	       "  -d, --delay S        seconds from look to look, 0.1 to 60 (1)\n"
	       "  -v, --view NAME      begin with overview, device, links or processes\n"
	       "  -i, --device N       device of the views of one (0)\n"
	       "  -b, --batch          plain text, as for a pipe\n"
	       "  -n, --iterations N   plain text: end after N looks (1)\n"
	       "      --once           plain text, once\n"
	       "  -j, --json           JSON array on standard output, once\n"
	       "  -h, --help           this text\n"
	       "  -V, --version        version\n"
	       "\n"
	       "On the screen h shows the keys. When standard output is no terminal, plain\n"
	       "text. Exit status: 0; 1 no device, or one that could not be asked; 2 wrong usage.\n");
}

static void sleep_ms(unsigned int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000l };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static int plain_width(void)
{
	const char *columns = getenv("COLUMNS");
	int width = columns ? atoi(columns) : 0;

	return width >= 72 && width <= 400 ? width : 100;
}

/* Rates need two looks: the first one is not shown. */
static int run_plain(struct top *top, unsigned int count, bool json)
{
	struct page page = { 0 };
	int status = TOOL_OK;
	unsigned int i;

	sample_take(top->sample);
	while (count--) {
		sleep_ms(top->delay_ms);
		sample_take(top->sample);
		if (json) {
			top_json(top);
			break;
		}
		page_render(&page, top, plain_width());
		page_print(&page);
		if (count)
			putchar('\n');
		fflush(stdout);
	}
	for (i = 0; i < top->sample->num_devices; i++) {
		if (!top->sample->devices[i].error[0])
			continue;
		tool_warn("%s", top->sample->devices[i].error);
		status = TOOL_FAILED;
	}
	page_clear(&page);
	free(page.line);
	return status;
}

static enum view parse_view(const char *text)
{
	unsigned int i;

	for (i = 0; i < NUM_VIEWS; i++)
		if (!strcasecmp(text, view_name((enum view)i)))
			return (enum view)i;
	tool_warn("there is no view '%s'", text);
	tool_usage_error();
}

static unsigned int parse_number(const char *text, const char *what, uint64_t limit)
{
	uint64_t value;

	if (!tool_parse_size(text, &value) || value >= limit) {
		tool_warn("%s '%s' is no number below %u", what, text, (unsigned int)limit);
		tool_usage_error();
	}
	return (unsigned int)value;
}

static unsigned int parse_delay(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0.1 && value <= 60)) {
		tool_warn("delay '%s' is not from 0.1 to 60", text);
		tool_usage_error();
	}
	return (unsigned int)(value * 1000);
}

int main(int argc, char **argv)
{
	enum { OPT_ONCE = 256 };
	static const struct option options[] = {
		{ "delay", required_argument, NULL, 'd' },
		{ "view", required_argument, NULL, 'v' },
		{ "device", required_argument, NULL, 'i' },
		{ "batch", no_argument, NULL, 'b' },
		{ "iterations", required_argument, NULL, 'n' },
		{ "once", no_argument, NULL, OPT_ONCE },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	bool plain = !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO), json = false;
	struct top top = { .delay_ms = 1000 };
	unsigned int count = 1;
	int status, c;

	tool_name = "neuron-top";
	while ((c = getopt_long(argc, argv, "d:v:i:bn:jhV", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			top.delay_ms = parse_delay(optarg);
			break;
		case 'v':
			top.view = parse_view(optarg);
			break;
		case 'i':
			top.device = parse_number(optarg, "device", 65536);
			break;
		case 'n':
			count = parse_number(optarg, "number of looks", 1000000000);
			plain = true;
			break;
		case 'b':
		case OPT_ONCE:
			plain = true;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			print_usage();
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
	top.sample = sample_open();
	if (top.device >= top.sample->num_devices)
		tool_die(TOOL_FAILED, "device %u does not exist: there are %u, counted from 0",
			 top.device, top.sample->num_devices);
	status = plain || json ? run_plain(&top, count, json) : screen_run(&top);
	sample_close(top.sample);
	return tool_finish(status);
}
