// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool.h"

#define QUIET_NS 2000000000
#define STEP_NS 100000000
#define BAR 30

static int64_t begin, shown;

/* A message or the end of the program finds a line of its own. */
void tool_progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = 0;
	begin = 0;
}

void tool_progress(const char *what, uint64_t done, uint64_t total)
{
	static const char bar[] = "##############################";
	static bool registered;
	int64_t now = tool_now();
	int filled;

	if (!isatty(STDERR_FILENO) || !total)
		return;
	if (!registered)
		registered = !atexit(tool_progress_clear);
	if (!begin)
		begin = now;
	if (now - begin < QUIET_NS || now - shown < STEP_NS)
		return;
	if (done > total)
		done = total;
	filled = (int)((double)done / (double)total * BAR);
	fprintf(stderr, "\r\033[K%s [%-*.*s] %3d %%", what, BAR, filled, bar,
		(int)((double)done / (double)total * 100));
	fflush(stderr);
	shown = now;
}
