/* A small handcrafted evaluation that prints traces for nnuance. Plain C11, one file:
 *
 *     cc -O2 -o engine engine.c
 *     ./engine --terms > terms.txt
 *     ./engine --trace < positions.epd > positions.trace
 *     ./engine --eval  < positions.epd          one number a line: White's view, with the tempo
 *
 * Positions come as lines of `FEN [1-0]`, `FEN [1-0] centipawns`, `FEN c9 "1-0";` or
 * `FEN | centipawns | 1.0`, score and result seen by White. What belongs to tracing is marked TRACING; the rest is any engine. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING, NONE };
enum { WHITE, BLACK };

static int role[64], side[64], turn; /* a1 = 0, h8 = 63; role NONE on empty squares */

/* ---- Terms: each has a number, and a weight for the middlegame and one for the endgame. ---- */
enum {
    MATERIAL = 0,                /* pawn to queen */
    RANKS = MATERIAL + 5,         /* by piece, 8 ranks each, seen by its side */
    FILES = RANKS + 6 * 8,        /* by piece, 4 files each, the same for both wings */
    PASSED = FILES + 6 * 4,      /* by rank, 8 */
    BISHOP_PAIR = PASSED + 8,
    MOBILITY = BISHOP_PAIR + 1,  /* knight to queen */
    KING_ATTACKERS = MOBILITY + 4,
    KING_ATTACKS,
    KING_CALM,
    WIN_PAWNS,
    WIN_ALWAYS,
    TERMS
};
#define PHASE 24
#define SCALE 128
#define TEMPO 12

typedef struct { double mg, eg; } Pair;
static Pair weight[TERMS];

/* ---- TRACING: counting, beside the adding that every evaluation does. ---- */
static int counts[TERMS][2];
#define TRACE(term, colour, times) (counts[term][colour] += (times))
#define ADD(sum, term, colour, times)               \
    do {                                            \
        (sum)->mg += weight[term].mg * (times);     \
        (sum)->eg += weight[term].eg * (times);     \
        TRACE(term, colour, times);                 \
    } while (0)
/* ---- end of TRACING ---- */

static void start_weights(void) {
    static const double material[5][2] = {
        {82, 94}, {337, 281}, {365, 297}, {477, 512}, {1025, 936}};
    static const double advance[6][2] = {{2, 6}, {5, 3}, {3, 2}, {1, 3}, {0, 4}, {-18, 9}};
    static const double centre[6][2] = {{4, 0}, {9, 6}, {5, 4}, {3, 0}, {2, 5}, {-12, 8}};
    static const double mobility[4][2] = {{4, 4}, {5, 5}, {2, 4}, {1, 2}};
    for (int p = 0; p < 5; p++) weight[MATERIAL + p] = (Pair){material[p][0], material[p][1]};
    for (int p = 0; p < 6; p++) {
        for (int r = 0; r < 8; r++)
            weight[RANKS + 8 * p + r] = (Pair){advance[p][0] * (r - 3), advance[p][1] * (r - 3)};
        for (int f = 0; f < 4; f++)
            weight[FILES + 4 * p + f] = (Pair){centre[p][0] * (f - 2), centre[p][1] * (f - 2)};
    }
    for (int r = 1; r < 7; r++) weight[PASSED + r] = (Pair){r * r, 3 * r * r};
    weight[BISHOP_PAIR] = (Pair){25, 45};
    for (int p = 0; p < 4; p++) weight[MOBILITY + p] = (Pair){mobility[p][0], mobility[p][1]};
    weight[KING_ATTACKERS] = (Pair){35, 6};
    weight[KING_ATTACKS] = (Pair){12, 3};
    weight[KING_CALM] = (Pair){-60, -10};
    weight[WIN_PAWNS] = (Pair){0, 3};
    weight[WIN_ALWAYS] = (Pair){0, -30};
}

/* ---- The evaluation. ---- */
static double positive(double x) { return x > 0 ? x : 0; }

/* The squares that a knight, bishop, rook or queen attacks. */
typedef struct { int squares[32], length; } List;

static void attacks(int from, int piece, List *list) {
    static const int steps[8][2] = {
        {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
    static const int jumps[8][2] = {
        {1, 2}, {2, 1}, {-1, 2}, {-2, 1}, {1, -2}, {2, -1}, {-1, -2}, {-2, -1}};
    int first = piece == BISHOP ? 4 : 0, last = piece == ROOK ? 4 : 8;
    list->length = 0;
    for (int i = first; i < last; i++) {
        const int *step = piece == KNIGHT ? jumps[i] : steps[i];
        for (int f = from % 8 + step[0], r = from / 8 + step[1]; f >= 0 && f < 8 && r >= 0 && r < 8;
             f += step[0], r += step[1]) {
            list->squares[list->length++] = 8 * r + f;
            if (piece == KNIGHT || role[8 * r + f] != NONE) break;
        }
    }
}

static int passed(int square, int colour) {
    for (int s = 0; s < 64; s++) {
        int ahead = colour == WHITE ? s / 8 > square / 8 : s / 8 < square / 8;
        if (role[s] == PAWN && side[s] != colour && ahead && abs(s % 8 - square % 8) <= 1) return 0;
    }
    return 1;
}

/* Adds the NORMAL terms of a side, and the danger that it makes for the other king. */
static void side_terms(int colour, Pair *sum, Pair *their_danger) {
    int king = 0, bishops = 0, queens = 0, attackers = 0, hits = 0;
    for (int s = 0; s < 64; s++)
        if (role[s] == KING && side[s] != colour) king = s;
    for (int s = 0; s < 64; s++) {
        if (role[s] == NONE || side[s] != colour) continue;
        int p = role[s], rank = colour == WHITE ? s / 8 : 7 - s / 8, file = s % 8;
        if (p != KING) ADD(sum, MATERIAL + p, colour, 1);
        ADD(sum, RANKS + 8 * p + rank, colour, 1);
        ADD(sum, FILES + 4 * p + (file < 4 ? file : 7 - file), colour, 1);
        if (p == PAWN && passed(s, colour)) ADD(sum, PASSED + rank, colour, 1);
        bishops += p == BISHOP;
        queens += p == QUEEN;
        if (p < KNIGHT || p > QUEEN) continue;
        List list;
        attacks(s, p, &list);
        int free = 0, near = 0;
        for (int i = 0; i < list.length; i++) {
            int to = list.squares[i];
            free += role[to] == NONE || side[to] != colour;
            near += abs(to % 8 - king % 8) <= 1 && abs(to / 8 - king / 8) <= 1;
        }
        ADD(sum, MOBILITY + p - KNIGHT, colour, free);
        attackers += near > 0;
        hits += near;
    }
    if (bishops >= 2) ADD(sum, BISHOP_PAIR, colour, 1);
    /* A SAFETY term counts for the side whose king is in danger. */
    ADD(their_danger, KING_ATTACKERS, !colour, attackers);
    ADD(their_danger, KING_ATTACKS, !colour, hits);
    if (queens == 0) ADD(their_danger, KING_CALM, !colour, 1);
}

static int phase, scale;

/* Centipawns, White's view. */
static double evaluate(void) {
    Pair sum[2] = {{0, 0}, {0, 0}}, danger[2] = {{0, 0}, {0, 0}}, win = {0, 0};
    int pawns = 0, men[2] = {0, 0}, bishop[2] = {-1, -1};
    memset(counts, 0, sizeof counts); /* TRACING */
    phase = 0;
    for (int s = 0; s < 64; s++) {
        static const int phases[7] = {0, 1, 1, 2, 4, 0, 0};
        phase += phases[role[s]];
        pawns += role[s] == PAWN;
        if (role[s] >= KNIGHT && role[s] <= QUEEN) men[side[s]]++;
        if (role[s] == BISHOP) bishop[side[s]] = (s / 8 + s % 8) % 2;
    }
    if (phase > PHASE) phase = PHASE;
    int opposite = men[0] == 1 && men[1] == 1 && bishop[0] >= 0 && bishop[0] + bishop[1] == 1;
    scale = opposite ? SCALE / 2 : SCALE;
    side_terms(WHITE, &sum[WHITE], &danger[BLACK]);
    side_terms(BLACK, &sum[BLACK], &danger[WHITE]);
    /* A COMPLEXITY term has no side: its count is White's. */
    ADD(&win, WIN_PAWNS, WHITE, pawns);
    ADD(&win, WIN_ALWAYS, WHITE, 1);
    double mg = sum[WHITE].mg - sum[BLACK].mg, eg = sum[WHITE].eg - sum[BLACK].eg;
    mg -= danger[WHITE].mg * positive(danger[WHITE].mg) / 720;
    mg += danger[BLACK].mg * positive(danger[BLACK].mg) / 720;
    eg += (positive(danger[BLACK].eg) - positive(danger[WHITE].eg)) / 20;
    if (eg > 0) eg = positive(eg + win.eg);
    else if (eg < 0) eg = -positive(-eg + win.eg);
    double share = (double)phase / PHASE;
    double value = share * mg + (double)scale / SCALE * (1 - share) * eg;
    return value + (turn == WHITE ? TEMPO : -TEMPO);
}

/* ---- TRACING: a line for the position just evaluated. ---- */
static void print_trace(const char *result, const char *cp, double value, const char *fen) {
    printf("%s %c %d %d", result, turn == WHITE ? 'w' : 'b', phase, scale);
    if (cp) printf(" cp=%d", atoi(cp));
    printf(" eval=%.2f |", value);
    for (int i = 0; i < TERMS; i++)
        if (counts[i][WHITE] || counts[i][BLACK])
            printf(" %d:%d:%d", i, counts[i][WHITE], counts[i][BLACK]);
    printf(" | %s\n", fen);
}
/* ---- end of TRACING ---- */

/* ---- TRACING: the term list, once. ---- */
static void print_terms(void) {
    static const char *pieces[6] = {"pawn", "knight", "bishop", "rook", "queen", "king"};
    static const char *other[5] = {
        "king.attackers", "king.attacks", "king.calm", "win.pawns", "win.always"};
    printf("phase %d\nscale %d\ntempo %d\n", PHASE, SCALE, TEMPO);
    for (int i = 0; i < TERMS; i++) {
        if (i < RANKS) printf("material.%s", pieces[i]);
        else if (i < FILES) printf("rank.%s.%d", pieces[(i - RANKS) / 8], (i - RANKS) % 8 + 1);
        else if (i < PASSED) printf("file.%s.%c", pieces[(i - FILES) / 4], 'a' + (i - FILES) % 4);
        else if (i < BISHOP_PAIR) printf("passed.%d", i - PASSED + 1);
        else if (i < MOBILITY) printf("bishop.pair");
        else if (i < KING_ATTACKERS) printf("mobility.%s", pieces[i - MOBILITY + 1]);
        else printf("%s", other[i - KING_ATTACKERS]);
        const char *kind = i < KING_ATTACKERS ? "normal" : i < WIN_PAWNS ? "safety" : "complexity";
        printf(" %s %.17g %.17g\n", kind, weight[i].mg, weight[i].eg);
    }
}
/* ---- end of TRACING ---- */

/* ---- Lines of positions. ---- */
static int set_board(const char *fen) {
    static const char letters[] = "pnbrqk";
    int square = 56;
    for (int s = 0; s < 64; s++) role[s] = NONE;
    for (; *fen && *fen != ' '; fen++) {
        const char *letter = strchr(letters, tolower((unsigned char)*fen));
        if (*fen == '/') square -= 16;
        else if (*fen >= '1' && *fen <= '8') square += *fen - '0';
        else if (letter && square >= 0 && square < 64) {
            role[square] = (int)(letter - letters);
            side[square++] = isupper((unsigned char)*fen) ? WHITE : BLACK;
        } else return 0;
    }
    if (fen[0] != ' ' || (fen[1] != 'w' && fen[1] != 'b')) return 0;
    turn = fen[1] == 'w' ? WHITE : BLACK;
    return 1;
}

/* Cuts blanks, `;` and the name of the operation `c9` from the end of a FEN. */
static void trim(char *fen) {
    size_t length = strlen(fen);
    while (length && strchr(" \t\r\n;", fen[length - 1])) length--;
    if (length > 2 && !memcmp(fen + length - 2, "c9", 2)) length -= 2;
    while (length && fen[length - 1] == ' ') length--;
    fen[length] = 0;
}

int main(int arguments, char **argument) {
    static char line[4096];
    const char *what = arguments == 2 ? argument[1] : "";
    int trace = !strcmp(what, "--trace");
    start_weights();
    if (!strcmp(what, "--terms")) return print_terms(), 0;
    if (!trace && strcmp(what, "--eval"))
        return fputs("use --terms, --trace or --eval\n", stderr), 1;
    if (trace) printf("nnuance-trace 1\n"); /* TRACING */
    for (int number = 1; fgets(line, sizeof line, stdin); number++) {
        char *mark = strpbrk(line, "[|\""), *result = "", *cp = NULL;
        if (mark) {
            if (*mark == '|') cp = mark + 1, result = strchr(cp, '|');
            else result = mark, cp = strchr(mark + 1, ']');
            result = result ? result + 1 : "";
            if (cp && *cp == ']') cp++;
            if (cp && !strpbrk(cp, "0123456789")) cp = NULL;
            *mark = 0;
        }
        while (*result == ' ') result++;
        trim(line);
        if (!*line) continue;
        result = !strncmp(result, "1/2", 3) || !strncmp(result, "0.5", 3) ? "0.5"
               : *result == '1' ? "1.0" : *result == '0' ? "0.0" : "";
        if (!set_board(line) || (trace && !*result))
            return fprintf(stderr, "line %d: expected FEN and result\n", number), 1;
        double value = evaluate();
        if (trace) print_trace(result, cp, value, line);
        else printf("%.17g\n", value);
    }
    return 0;
}
