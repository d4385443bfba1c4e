# Signs of a maker: /plates/<n> lets a tool check each layer of a drawing, /signs/<n> needs no tool.
# Arguments: address, port, number of processes, directory of layers, layers of a drawing, rounds (what an answer costs).
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use IO::Socket::INET;
use POSIX qw(_exit dup2 sysconf _SC_OPEN_MAX);

my ($address, $port, $processes, $drawings, $layers, $rounds) = @ARGV;
my $listener = IO::Socket::INET->new(
    LocalAddr => $address, LocalPort => $port, Listen => 512, ReuseAddr => 1,
) or die "listen: $!";
my @files = glob("$drawings/*.svg");

# Starts a tool that has its output and no other file of this process, and returns what it prints.
sub run_tool {
    my @command = @_;
    pipe(my $output, my $input) or return '';
    my $child = fork;
    return '' unless defined $child;
    if (!$child) {
        dup2(fileno($input), 1);
        POSIX::close($_) for 3 .. sysconf(_SC_OPEN_MAX) - 1;
        exec { $command[0] } @command or _exit(1);
    }
    close $input;
    my $text = do { local $/; <$output> };
    close $output;
    waitpid $child, 0;
    return $text // '';
}

sub answer {
    my ($path) = @_;
    my $seal = sha256_hex($path);
    $seal = sha256_hex($seal) for 1 .. $rounds;
    if ($path =~ m{^/plates/(\d+)}) {
        for my $layer (1 .. $layers) {
            my $text = run_tool('/usr/bin/cksum', $files[($1 + $layer) % @files]);
            return (503, '') unless $text;
            $seal .= substr $text, 0, 8;
        }
    }
    return (200, $seal);
}

sub serve {
    while (1) {
        my $client = $listener->accept or next;
        my $line = <$client> // '';
        while (my $header = <$client>) { last if $header eq "\r\n" }
        my ($status, $body) = answer((split / /, $line)[1] // '/');
        my $length = length $body;
        print $client "HTTP/1.0 $status OK\r\nContent-Type: text/plain\r\nContent-Length: $length\r\n\r\n$body";
        close $client;
    }
}

$SIG{TERM} = sub { $SIG{TERM} = 'DEFAULT'; kill TERM => 0; };
for (1 .. $processes) {
    my $child = fork;
    if (defined $child && !$child) {
        $SIG{TERM} = 'DEFAULT';
        serve();
    }
}
1 while wait > 0;
