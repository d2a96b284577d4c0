// SPDX-License-Identifier: MIT
/*
 * neuron-trace: a timeline of what driver and device did.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"
#include "trace.h"

#define DEFAULT_BUFFER_KB 8192
#define MAX_BUFFER_KB (1u << 20)

static struct {
	const char *path;
	bool text;
	unsigned long lines;
	FILE *out;
	struct timeline *timeline;
} output = { .path = "trace.json" };

static void print_usage(void)
{
	printf("usage: neuron-trace record [OPTION] [--] [COMMAND [ARG]...]\n"
	       "       neuron-trace convert [OPTION] FILE...\n"
	       "\n"
	       "A timeline for https://ui.perfetto.dev or chrome://tracing. record takes the events\n"
	       "of the driver (submits, completions, doorbells, interrupts, errors, resets) while\n"
	       "COMMAND runs, or until Ctrl-C. convert reads what record --text, trace-cmd report,\n"
	       "perf script or the kernel's file trace hold, and what neuron-vm was told to write\n"
	       "of the modelled times of DMA and links; - is standard input.\n"
	       "\n"
	       "  -o, --output FILE   - is standard output (default: trace.json)\n"
	       "  -t, --text          record: lines of text instead of JSON\n"
	       "  -s, --seconds S     record: at most so long\n"
	       "  -b, --buffer KIB    record: memory for each CPU (default: 8192)\n"
	       "  -h, --help          this text\n"
	       "  -V, --version       version\n"
	       "\n"
	       "Exit status: that of COMMAND, or 0; 1 it cannot be traced; 2 wrong usage.\n");
}

static void take_line(void *context, const char *text)
{
	(void)context;
	if (output.text) {
		output.lines++;
		fprintf(output.out, "%s\n", text);
	} else {
		timeline_line(output.timeline, text);
	}
}

static void open_output(void)
{
	output.out = strcmp(output.path, "-") ? fopen(output.path, "we") : stdout;
	if (!output.out)
		tool_die(TOOL_FAILED, "%s: %s", output.path, strerror(errno));
	if (!output.text)
		output.timeline = timeline_new(output.out);
}

/* Returns how many events there are. */
static unsigned long close_output(void)
{
	unsigned long count = output.text ? output.lines : timeline_end(output.timeline);

	if (output.out == stdout)
		return count;
	if (ferror(output.out) | fclose(output.out))
		tool_die(TOOL_FAILED, "%s: %s", output.path, strerror(errno));
	printf("%lu events are in %s%s\n", count, output.path,
	       output.text ? "" : "; https://ui.perfetto.dev shows it");
	return count;
}

static int do_record(const struct record_options *options)
{
	int status;

	record_check();
	open_output();
	status = record(options, take_line, NULL);
	if (!close_output())
		tool_warn("nothing has used a device");
	return status;
}

static void read_file(const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char line[TRACE_LINE];
	long size = 0;

	if (!f)
		tool_die(TOOL_FAILED, "%s: %s", path, strerror(errno));
	if (!fseek(f, 0, SEEK_END)) {
		size = ftell(f);
		rewind(f);
	}
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		timeline_line(output.timeline, line);
		if (size > 0)
			tool_progress(path, (uint64_t)ftell(f), (uint64_t)size);
	}
	tool_progress_clear();
	if (ferror(f))
		tool_die(TOOL_FAILED, "%s: %s", path, strerror(errno));
	if (f != stdin)
		fclose(f);
}

static int do_convert(char *const *files)
{
	open_output();
	for (; *files; files++)
		read_file(*files);
	if (close_output())
		return TOOL_OK;
	tool_warn("no line is an event of the driver trainium or of the model");
	return TOOL_FAILED;
}

static void parse_option(int c, struct record_options *options)
{
	uint64_t number;
	char *end;

	switch (c) {
	case 'o':
		output.path = optarg;
		break;
	case 't':
		output.text = true;
		break;
	case 's':
		options->seconds = strtod(optarg, &end);
		if (end == optarg || *end || !(options->seconds > 0 && options->seconds <= 86400))
			tool_die(TOOL_USAGE, "seconds '%s': above 0, to 86400", optarg);
		break;
	case 'b':
		if (!tool_parse_size(optarg, &number) || !number || number > MAX_BUFFER_KB)
			tool_die(TOOL_USAGE, "buffer '%s': 1 to %u KiB", optarg, MAX_BUFFER_KB);
		options->buffer_kb = (unsigned int)number;
		break;
	case 'h':
		print_usage();
		exit(tool_finish(TOOL_OK));
	case 'V':
		tool_print_version();
		exit(tool_finish(TOOL_OK));
	default:
		tool_usage_error();
	}
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "text", no_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' },
		{ "buffer", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct record_options options = { .buffer_kb = DEFAULT_BUFFER_KB };
	const char *verb = "";
	int c;

	tool_name = "neuron-trace";
	if (argc > 1 && argv[1][0] != '-') {
		verb = argv[1];
		argv++;
		argc--;
	}
	/* What follows COMMAND is for it. */
	while ((c = getopt_long(argc, argv, "+o:ts:b:hV", long_options, NULL)) != -1)
		parse_option(c, &options);
	if (!strcmp(verb, "record")) {
		options.command = optind < argc ? argv + optind : NULL;
		return tool_finish(do_record(&options));
	}
	if (!*verb)
		tool_warn("record or convert is missing");
	else if (strcmp(verb, "convert"))
		tool_warn("'%s' is neither record nor convert", verb);
	else if (optind == argc)
		tool_warn("convert: no file");
	else if (output.text || options.seconds > 0)
		tool_warn("convert: --text and --seconds are for record");
	else
		return tool_finish(do_convert(argv + optind));
	tool_usage_error();
}
