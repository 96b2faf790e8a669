# Work on a mailbox, as mail programs do it: take headers apart, count words, score for spam, sort, rewrite.
#
#   miniperl mail.pl MESSAGES ROUNDS 'TASK ...'
#
# Messages are made by this script's own generator, so that they are the same everywhere. Needs no module.

my ($messages, $rounds, $tasks) = @ARGV;
my %TASKS = (headers => \&headers, words => \&words, score => \&score, sort => \&sort_all, rewrite => \&rewrite);
die "usage: mail.pl MESSAGES ROUNDS 'TASK ...'\n"
    if @ARGV != 3 || $messages !~ /^[1-9]\d{0,6}$/ || $rounds !~ /^[1-9]\d{0,6}$/;
my @tasks = split ' ', $tasks;
for (@tasks) {
    die "mail.pl: unknown task \"$_\"; known: @{[sort keys %TASKS]}\n" unless $TASKS{$_};
}

my $state = 1;

# From 0 to below the limit; small enough for exact whole numbers everywhere.
sub draw {
    $state = ($state * 16807) % 2147483647;
    return $state % $_[0];
}

my @SYLLABLES = qw(an be ca do el fi gra ho in jo ka lo mi nu or pe qua ri sto ter un vi wo xen yel zu);

sub make_word { join '', map { $SYLLABLES[draw(scalar @SYLLABLES)] } 1 .. 1 + draw(3) }

my @WORDS = map { make_word() } 1 .. 2000;
my @SPICE = ('FREE!!!', 'act now', 'Dear friend', '$' . '1,000,000', 'click here', 'http://win.example/' . 'x' x 20);

# Frequent words come often: the product of two draws leans towards the front.
sub draw_word { $WORDS[int(draw(2000) * draw(2000) / 2000)] }

sub make_message {
    my ($number) = @_;
    my $from = draw_word() . '@' . draw_word() . '.example';
    my $date = sprintf '%02d Nov 2026 %02d:%02d:%02d +0%d00', 1 + draw(28), draw(24), draw(60), draw(60), draw(10);
    my @lines;
    for (1 .. 8 + draw(24)) {
        my @line = map { draw_word() } 1 .. 6 + draw(8);
        push @line, $SPICE[draw(scalar @SPICE)] if draw(12) == 0;
        push @lines, ucfirst(join ' ', @line) . '.';
    }
    return "From: \"\u${\draw_word()}\" <$from>\nTo: list\@mill.example\nDate: $date\n"
        . "Subject: " . join(' ', map { draw_word() } 1 .. 5) . "\nMessage-Id: <$number.$state\@mill.example>\n"
        . "Received: from a.example by b.example;\n\t$date\n\n" . join("\n", @lines) . "\n";
}

my @box = map { make_message($_) } 1 .. $messages;
my %counted = map { ($_ => 0) } keys %TASKS;

# Regular expressions: unfolds continued lines, takes fields, address and date apart.
sub headers {
    for my $message (@box) {
        my ($head) = $message =~ /\A(.*?)\n\n/s or die;
        $head =~ s/\n[ \t]+/ /g;
        my %field = $head =~ /^([A-Za-z-]+):[ \t]*(.*)$/mg;
        $field{From} =~ /^(?:"([^"]*)"\s*)?<([^@>]+)@([^>]+)>$/ or die;
        my ($name, $user, $host) = ($1, $2, $3);
        $field{Date} =~ /^(\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) \+(\d{4})$/ or die;
        $counted{headers} += length($name) + length($user) + length($host) + $1 + $4 * 3600 + $5 * 60 + $6;
    }
}

# Hashes: how often each word comes, and in how many messages.
sub words {
    my (%times, %spread);
    for my $message (@box) {
        my %here;
        for my $word (split /[^a-z]+/, lc substr $message, index($message, "\n\n")) {
            next if $word eq '';
            $times{$word}++;
            $spread{$word}++ unless $here{$word}++;
        }
    }
    my $sum = 0;
    $sum += $times{$_} * $spread{$_} for keys %times;
    $counted{words} += $sum + keys %times;
}

# Patterns with weights over the whole body, as spam filters do.
my @RULES = (
    [qr/\bfree\b[!]{2,}/i, 3], [qr/\bact\s+now\b/i, 2], [qr/^dear\s+\w+/im, 2], [qr/\$\d{1,3}(?:,\d{3})+/, 4],
    [qr/https?:\/\/[^\s\/]+\/(\w)\1{9,}/, 5], [qr/\b(?:click|tap)\s+(?:here|below)\b/i, 3],
    [qr/(?:[A-Z]{3,}\s*){2,}/, 1], [qr/\b(\w+)\s+\1\b/i, 1], [qr/[aeiou]{4,}/, 1], [qr/\bun\w*ter\b/, -1],
);

sub score {
    for my $message (@box) {
        my $score = 0;
        for my $rule (@RULES) {
            my $times = () = $message =~ /$rule->[0]/g;
            $score += $rule->[1] * ($times > 3 ? 3 : $times);
        }
        $counted{score} += $score > 9 ? 1000 + $score : $score;
    }
}

# Sorting: messages by a key that is taken out of each once, words by a comparison in Perl.
sub sort_all {
    my @keyed = map { my ($subject) = /^Subject: (.*)$/m; [lc $subject, length, $_] } @box;
    my @sorted = map { $_->[2] } sort { $a->[0] cmp $b->[0] || $a->[1] <=> $b->[1] } @keyed;
    my @lines = sort { length $a <=> length $b || $a cmp $b } map { split /\n/ } @sorted[0 .. $#sorted / 4];
    my $sum = 0;
    for my $at (0 .. $#lines) {
        $sum = ($sum * 31 + length($lines[$at]) * $at) % 1000003;
    }
    $counted{sort} += $sum;
}

# Texts: quotes a message line by line, swaps words, packs and reverses.
sub rewrite {
    for my $message (@box) {
        my $answer = join "\n", map { "> $_" } split /\n/, $message;
        $answer =~ tr/a-y/b-z/;
        $answer =~ s/(\w+) (\w+)/$2 $1/g;
        my $wrapped = '';
        for my $word (split ' ', $answer) {
            $wrapped .= length($wrapped) - rindex($wrapped, "\n") + length $word > 72 ? "\n$word" : " $word";
        }
        $counted{rewrite} = ($counted{rewrite} + unpack '%32C*', reverse uc $wrapped) % 4294967291;
    }
}

for (1 .. $rounds) {
    $TASKS{$_}->() for @tasks;
}

my $bytes = 0;
$bytes += length for @box;
my $handled = $messages * $rounds;
open my $file, '>', 'metrics.json' or die "metrics.json: $!\n";
print $file "{\"messages\": $handled, \"mailbox_bytes\": $bytes",
    (map { ", \"$_\_digest\": $counted{$_}" } sort keys %counted), "}\n";
close $file or die "metrics.json: $!\n";
