/* prose.c -- English-like prose; see prose.h.
 *
 *     story     title, then paragraphs           each with two persons of its own
 *     sentence  clause (, and clause)  |  "clause?" asked person  |  when clause, clause  |  ...
 *     clause    person verb object (somewhere)
 *     object    the (adjective) noun  |  a noun  |  his noun  |  the other person
 *
 * A word is drawn from its list with a density that falls as 1 / sqrt: the words in front are
 * frequent, those at the end rare. */
#include "common/prose.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/rng.h"

const char prose_alphabet[] = "\n !\"'(),-.:;?"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Names in pairs: he, she. */
static const char names[] = "Arthur Alice Bernard Beatrice Conrad Clara David Dora Edmund Emily "
                            "Frederick Flora George Grace "
                            "Henry Helen Isaac Irene Jonathan Julia Karl Kate Leonard Lucy Martin "
                            "Mary Nathan Nora Oliver Olga "
                            "Philip Paula Quentin Queenie Robert Rose Samuel Sarah Thomas Theresa "
                            "Ulrich Ursula Victor Viola "
                            "William Wanda Xavier Xenia Yorick Yvonne Zachary Zoe";
static const char nouns[] = "house river garden letter door horse boat path lamp window field book "
                            "mother friend table old-timer "
                            "village apple bridge king sister doctor forest mountain candle "
                            "captain island kitchen story answer "
                            "soldier bell ring clock ship engine umbrella orchard brother merchant "
                            "hat market mirror basket owl "
                            "teacher barrel wheel violin hammer cloud uncle wolf harbour ladder "
                            "map blanket key oven needle "
                            "queen shepherd valley judge kettle anchor quilt whistle tower axe";
static const char adjectives[] =
    "old little great young dark cold white long good heavy empty quiet red strange broken warm "
    "small "
    "early blue honest ancient narrow yellow clever silent rusty golden deep ugly proud wooden "
    "frozen "
    "careful hollow crooked gentle brave idle vast weary quick-witted lazy";
static const char takes[] =
    "saw found took left loved carried remembered forgot opened followed bought watched wanted "
    "lost "
    "painted sold knew described feared mended praised touched hid borrowed visited examined drew "
    "questioned kept measured admired";
static const char goes[] =
    "went walked sat waited slept stood ran sang worked laughed wept returned "
    "rode wandered stumbled danced swam vanished";
static const char places[] =
    "in the house,by the river,at the door,on the path,under the bridge,near the old mill,in the "
    "dark,"
    "behind the church,at the end of the street,across the valley,on a cold morning,before sunset,"
    "in the middle of the night,for seven years,without a word,as quickly as before,along the quay,"
    "beyond the last fence,just off the coast";
static const char titles[] = "The King of,A Letter to,The Return of,Questions about,In Search of,"
                             "News from the House of,The Judge and,Zeal without Knowledge: ";

typedef struct {
    at_stream dice;
    uint64_t draw;
    int32_t *ids;
    ptrdiff_t n, size; /* written, and asked for */
    bool capital;      /* of the next letter */
    int who[2];        /* of this paragraph: numbers of their names */
    int last;          /* which of the two was named last; -1: neither */
} writer;

static double chance(writer *w)
{
    return at_random_u32(w->dice, w->draw++) / 4294967296.0;
}

static bool happens(writer *w, double probability)
{
    return chance(w) < probability;
}

static void put(writer *w, const char *text, size_t length)
{
    for (size_t i = 0; i < length && w->n < w->size; i++) {
        char c = text[i];
        if (w->capital && c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
        w->capital &= c < 'A';
        w->ids[w->n++] = (int32_t)(strchr(prose_alphabet, c) - prose_alphabet);
    }
}

static void say(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

/* Word number i of a list in which each ends with this character; *length is its length. */
static const char *word(const char *list, char end, int i, size_t *length)
{
    while (i-- > 0) list = strchr(list, end) + 1;
    const char *stop = strchr(list, end);
    *length = stop ? (size_t)(stop - list) : strlen(list);
    return list;
}

static int count(const char *list, char end)
{
    int n = 1;
    while ((list = strchr(list, end))) n++, list++;
    return n;
}

static const char *draw(writer *w, const char *list, char end, size_t *length)
{
    const double u = chance(w);
    return word(list, end, (int)(u * u * count(list, end)), length);
}

static void say_one(writer *w, const char *list, char end)
{
    size_t length;
    const char *text = draw(w, list, end, &length);
    put(w, text, length);
}

static void name(writer *w, int k)
{
    size_t length;
    const char *text = word(names, ' ', w->who[k], &length);
    put(w, text, length);
    w->last = k;
}

static bool is_she(const writer *w, int k)
{
    return w->who[k] % 2;
}

/* One of the two; a pronoun where it is clear who is meant. */
static void person(writer *w)
{
    const int k = happens(w, 0.6) ? 0 : 1;
    if (k == w->last && happens(w, 0.7))
        say(w, is_she(w, k) ? "she" : "he");
    else
        name(w, k);
}

/* An adjective or none, and a noun, behind "the " or, if not definite, "a " or "an ". */
static void thing(writer *w, bool definite)
{
    size_t n = 0, m;
    const char *adjective = happens(w, 0.4) ? draw(w, adjectives, ' ', &n) : "";
    const char *noun = draw(w, nouns, ' ', &m), first = n ? *adjective : *noun;
    say(w, definite ? "the " : strchr("aeiou", first) ? "an " : "a ");
    put(w, adjective, n);
    if (n) say(w, " ");
    put(w, noun, m);
}

static void object(writer *w)
{
    const double u = chance(w);
    if (u < 0.15 && w->last >= 0) {
        say(w, is_she(w, w->last) ? "her " : "his ");
        say_one(w, nouns, ' ');
    } else if (u < 0.3 && w->last >= 0) {
        name(w, 1 - w->last);
    } else {
        thing(w, u < 0.75);
    }
}

static void clause(writer *w)
{
    person(w);
    say(w, " ");
    if (happens(w, 0.35)) {
        say_one(w, goes, ' ');
    } else {
        say_one(w, takes, ' ');
        say(w, " ");
        object(w);
    }
    if (happens(w, 0.35)) say(w, " "), say_one(w, places, ',');
}

static void speech(writer *w)
{
    const bool asks = happens(w, 0.4);
    say(w, "\"");
    say(w, asks ? "have you seen " : happens(w, 0.5) ? "I don't know " : "give me ");
    object(w);
    say(w, asks ? "?\" asked " : happens(w, 0.3) ? "!\" cried " : ",\" said ");
    name(w, w->last == 0);
    say(w, ".");
}

static void sentence(writer *w)
{
    const double u = chance(w);
    w->capital = true;
    if (u < 0.25) {
        speech(w);
        return;
    }
    if (u < 0.35) say(w, "when "), clause(w), say(w, ", ");
    clause(w);
    if (happens(w, 0.35)) {
        static const char *const joint[] = {", and ",  ", but ",   " because ",
                                            "; then ", " before ", ", for "};
        say(w, joint[(int)(chance(w) * 6)]);
        clause(w);
    }
    if (happens(w, 0.06)) say(w, " (it was "), thing(w, false), say(w, ")");
    say(w, happens(w, 0.05) ? "!" : ".");
}

static void paragraph(writer *w)
{
    w->who[0] = (int)(chance(w) * count(names, ' '));
    w->who[1] =
        2 * (int)(chance(w) * count(names, ' ') / 2) + !is_she(w, 0); /* he or she is clear */
    w->last = -1;
    for (int i = 3 + (int)(5 * chance(w)); i > 0; i--) sentence(w), say(w, i > 1 ? " " : "\n");
}

void prose_ids(uint64_t seed, ptrdiff_t n, int32_t *ids)
{
    writer w = {.dice = {.seed = seed}, .ids = ids, .size = n};
    while (w.n < n) {
        say_one(&w, titles, ',');
        say(&w, " ");
        w.who[0] = (int)(chance(&w) * count(names, ' '));
        name(&w, 0);
        say(&w, "\n\n");
        for (int i = 4 + (int)(6 * chance(&w)); i > 0; i--) paragraph(&w);
        say(&w, "\n");
    }
}
