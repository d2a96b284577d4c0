/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each generation shows when its firmware is ready, word by word: a change
 * that nobody meant shows here, even where no other test looks. What is not
 * zero is in golden/, made by
 *
 *   cd build && QTEST_QEMU_BINARY=qemu/bin/qemu-system-x86_64 \
 *       TRAINIUM_GOLDEN=DIRECTORY qtest/trainium-golden-test
 */
#include "qemu/osdep.h"
#include "trainium-qtest.h"

typedef struct Word {
    const char *where;
    uint32_t offset, value;
} Word;

static const Word golden_trainium1[] = {
#include "golden/trainium1.h.inc"
};
static const Word golden_trainium2[] = {
#include "golden/trainium2.h.inc"
};
static const Word golden_trainium3[] = {
#include "golden/trainium3.h.inc"
};
static const Word golden_trainium4[] = {
#include "golden/trainium4.h.inc"
};

static const struct {
    const char *model;
    const Word *word;
    unsigned num;
} golden[] = {
    { "trainium1", golden_trainium1, ARRAY_SIZE(golden_trainium1) },
    { "trainium2", golden_trainium2, ARRAY_SIZE(golden_trainium2) },
    { "trainium3", golden_trainium3, ARRAY_SIZE(golden_trainium3) },
    { "trainium4", golden_trainium4, ARRAY_SIZE(golden_trainium4) },
};

typedef struct Dump {
    TqChip c;
    FILE *file;                 /* NULL: compare */
    const Word *next, *end;
    bool differs;
} Dump;

static void word(Dump *d, const char *where, uint32_t offset, uint32_t value)
{
    uint32_t want = 0;

    if (d->file) {
        if (value) {
            fprintf(d->file, "    { \"%s\", 0x%05x, 0x%08x },\n", where, offset,
                    value);
        }
        return;
    }
    if (d->next < d->end && !strcmp(d->next->where, where) &&
        d->next->offset == offset) {
        want = d->next++->value;
    }
    if (value != want) {
        g_test_message("%s 0x%05x is 0x%08x, was 0x%08x", where, offset, value,
                       want);
        d->differs = true;
    }
}

static void config(Dump *d)
{
    unsigned i;

    for (i = 0; i < 0x100; i += 4) {
        /* Where firmware has put the BARs is the test's own choice. */
        if (i < 0x10 || i >= 0x28) {
            word(d, "config", i, tq_cfg_read(&d->c, i));
        }
    }
    for (; i < 0x400; i += 4) {
        word(d, "config", i, tq_ecfg_read(&d->c, i));
    }
}

static void engine(Dump *d, const char *where, unsigned e)
{
    static const struct {
        uint32_t first, end;
    } part[] = {
        { 0x00000, 0x00400 }, { 0x01000, 0x01080 }, { 0x0f000, 0x0f080 },
        { 0x20000, 0x20400 }, { 0x21000, 0x21080 }, { 0x2f000, 0x2f080 },
        { 0x38000, 0x38600 }, { 0x3a000, 0x3a200 },
    };
    unsigned i;
    uint32_t off;

    for (i = 0; i < ARRAY_SIZE(part); i++) {
        for (off = part[i].first; off < part[i].end; off += 4) {
            word(d, where, off, tq_ereg(&d->c, e, off));
        }
    }
    for (off = 0; off < 0x100; off += 4) {
        word(d, where, 0x40000 + off, tq_read(&d->c, tq_sdma(e) + off));
    }
}

static void test_golden(gconstpointer data)
{
    unsigned n = GPOINTER_TO_UINT(data);
    const char *dir = getenv("TRAINIUM_GOLDEN");
    Dump d = { .next = golden[n].word, .end = golden[n].word + golden[n].num };
    uint32_t off;

    tq_model = golden[n].model;
    tq_start(&d.c, "serial=1311768467463790320,server-id=5");
    if (dir) {
        g_autofree char *path = g_strdup_printf("%s/%s.h.inc", dir, tq_model);

        d.file = fopen(path, "w");
        g_assert_nonnull(d.file);
        fprintf(d.file, "/* SPDX-License-" "Identifier: GPL-2.0-or-later */\n");
    }
    config(&d);
    for (off = 0; off < 0x1000; off += 4) {
        word(&d, "misc", off, tq_misc_read(&d.c, off));
    }
    for (off = 0; off < 0x100; off += 4) {
        word(&d, "ext", off, tq_xread(&d.c, off));
    }
    engine(&d, "engine first", 0);
    engine(&d, "engine last", tq_gen->engines - 1);
    tq_stop(&d.c);
    if (d.file) {
        fclose(d.file);
        return;
    }
    g_assert_true(d.next == d.end);
    g_assert_false(d.differs);
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(golden); i++) {
        g_autofree char *path = g_strdup_printf("/trainium/golden/%s",
                                                golden[i].model);

        qtest_add_data_func(path, GUINT_TO_POINTER(i), test_golden);
    }
    return g_test_run();
}
