import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '__first__'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('sha256', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('made_unix_s', models.FloatField()),
                ('revoked_unix_s', models.FloatField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='StoredFile',
            fields=[
                ('sha256', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('size_bytes', models.BigIntegerField()),
                ('kind', models.CharField(max_length=16)),
                ('name', models.CharField(default='', max_length=255)),
                ('stored_unix_s', models.FloatField()),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='FileHolder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('holder', models.CharField(max_length=24)),
                ('file', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='datamill.storedfile')),
            ],
            options={
                'indexes': [models.Index(fields=['holder', 'file'], name='file_of_holder')],
                'constraints': [models.UniqueConstraint(fields=('file', 'holder'), name='one_holding_a_file')],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('unix_s', models.FloatField()),
                ('kind', models.CharField(max_length=32)),
                ('user', models.CharField(default='', max_length=150)),
                ('worker_id', models.CharField(default='', max_length=16)),
                ('experiment_id', models.BigIntegerField(null=True)),
                ('attempt', models.CharField(default='', max_length=64)),
                ('package_sha256', models.CharField(default='', max_length=64)),
                ('detail', models.TextField(default='')),
            ],
            options={
                'indexes': [models.Index(fields=['experiment_id', 'id'], name='event_of_experiment'), models.Index(fields=['worker_id', 'id'], name='event_of_worker')],
            },
        ),
        migrations.CreateModel(
            name='Quarantine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('reason', models.TextField()),
                ('since_unix_s', models.FloatField()),
                ('lifted_unix_s', models.FloatField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('lifted_unix_s__isnull', True)), fields=('sha256',), name='one_quarantine_a_package')],
            },
        ),
        migrations.CreateModel(
            name='Experiment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=128)),
                ('public', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('debugging', 'debugging'), ('held', 'held'), ('running', 'running'), ('completed', 'completed'), ('cancelled', 'cancelled')], max_length=10)),
                ('state_reason', models.TextField(default='')),
                ('text', models.TextField()),
                ('head', models.BinaryField()),
                ('design', models.BinaryField()),
                ('reboot', models.CharField(max_length=8)),
                ('most_attempts', models.IntegerField(default=4)),
                ('hold', models.BooleanField(default=False)),
                ('releasing', models.BooleanField(default=False)),
                ('submitted_unix_s', models.FloatField()),
                ('ended_unix_s', models.FloatField(null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['debugging', 'held', 'running', 'completed', 'cancelled'])), name='experiment_state'), models.CheckConstraint(condition=models.Q(models.Q(('ended_unix_s__isnull', False), ('state__in', ['completed', 'cancelled'])), models.Q(('ended_unix_s__isnull', True), ('state__in', ['debugging', 'held', 'running'])), _connector='OR'), name='experiment_ended')],
            },
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('worker_id', models.CharField(max_length=16, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('idle', 'idle'), ('busy', 'busy'), ('silent', 'silent'), ('drained', 'drained'), ('removed', 'removed')], default='idle', max_length=8)),
                ('state_reason', models.TextField(default='')),
                ('public_key', models.CharField(max_length=64)),
                ('api_key_sha256', models.CharField(max_length=64)),
                ('boot_id', models.CharField(default='', max_length=64)),
                ('boot_clock_ns', models.BigIntegerField(null=True)),
                ('earlier_boots', models.JSONField(null=True)),
                ('clock_offset_s', models.FloatField(default=0.0)),
                ('joined_unix_s', models.FloatField()),
                ('heard_unix_s', models.FloatField()),
                ('orders_sequence', models.BigIntegerField(default=0)),
                ('orders_sent_sequence', models.BigIntegerField(default=0)),
                ('ended_attempts', models.IntegerField(default=0)),
                ('failed_attempts', models.IntegerField(default=0)),
                ('rests_until_unix_s', models.FloatField(default=0.0)),
                ('hardware_key', models.CharField(max_length=64)),
                ('receipts', models.JSONField(default=list)),
                ('hardware', models.JSONField()),
                ('policy', models.BinaryField()),
                ('inventory', models.BinaryField()),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['hardware_key'], name='worker_by_hardware')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['idle', 'busy', 'silent', 'drained', 'removed'])), name='worker_state'), models.CheckConstraint(condition=models.Q(('orders_sent_sequence__lte', models.F('orders_sequence'))), name='worker_orders'), models.UniqueConstraint(fields=('name',), name='one_worker_a_name'), models.UniqueConstraint(fields=('public_key',), name='one_worker_a_key'), models.UniqueConstraint(fields=('api_key_sha256',), name='one_worker_a_credential')],
            },
        ),
        migrations.CreateModel(
            name='Spare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='datamill.experiment')),
                ('worker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='datamill.worker')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('experiment', 'worker'), name='one_spare_place')],
            },
        ),
        migrations.CreateModel(
            name='EnrolmentToken',
            fields=[
                ('sha256', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('made_unix_s', models.FloatField()),
                ('expires_unix_s', models.FloatField()),
                ('used_unix_s', models.FloatField(null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                ('worker', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, to='datamill.worker')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('used_unix_s__isnull', True), ('worker__isnull', True)), models.Q(('used_unix_s__isnull', False), ('worker__isnull', False)), _connector='OR'), name='token_used_by_someone')],
            },
        ),
        migrations.CreateModel(
            name='Trial',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('trial_id', models.CharField(max_length=24)),
                ('purpose', models.CharField(choices=[('design', 'design'), ('debug', 'debug'), ('build', 'build')], default='design', max_length=8)),
                ('position', models.BigIntegerField()),
                ('block', models.CharField(default='', max_length=64)),
                ('package_sha256', models.CharField(max_length=64)),
                ('reboot', models.BooleanField(default=False)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('planned', 'planned'), ('leased', 'leased'), ('counted', 'counted'), ('given_up', 'given up'), ('cancelled', 'cancelled')], max_length=9)),
                ('attempts', models.IntegerField(default=0)),
                ('plan', models.BinaryField()),
                ('experiment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='datamill.experiment')),
                ('worker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='datamill.worker')),
                ('needs', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='datamill.trial')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'planned')), fields=['worker', 'experiment', 'position'], name='trial_next_of_worker'), models.Index(fields=['experiment', 'state', 'id'], name='trial_by_state'), models.Index(condition=models.Q(('needs__isnull', False)), fields=['needs'], name='trial_by_build')],
                'constraints': [models.UniqueConstraint(fields=('experiment', 'trial_id'), name='one_trial_an_id'), models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'planned', 'leased', 'counted', 'given_up', 'cancelled'])), name='trial_state')],
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.IntegerField()),
                ('key', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('leased', 'leased'), ('taken', 'taken'), ('counted', 'counted'), ('late', 'late'), ('faulty', 'faulty'), ('refused', 'refused'), ('lost', 'lost'), ('cancelled', 'cancelled')], max_length=9)),
                ('reason', models.TextField(default='')),
                ('leased_unix_s', models.FloatField()),
                ('deadline_unix_s', models.FloatField()),
                ('taken_unix_s', models.FloatField(null=True)),
                ('taken_clock_ns', models.BigIntegerField(null=True)),
                ('ended_unix_s', models.FloatField(null=True)),
                ('outcome', models.CharField(default='', max_length=9)),
                ('record', models.BinaryField(null=True)),
                ('rebooted', models.BooleanField(default=False)),
                ('trial', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='datamill.trial')),
                ('worker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='datamill.worker')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ['leased', 'taken'])), fields=['deadline_unix_s'], name='attempt_by_deadline'), models.Index(fields=['worker', '-id'], name='attempt_of_worker'), models.Index(condition=models.Q(('state', 'lost')), fields=['ended_unix_s'], name='attempt_lost')],
                'constraints': [models.UniqueConstraint(fields=('trial', 'number'), name='one_attempt_a_number'), models.UniqueConstraint(fields=('key',), name='one_attempt_a_key'), models.UniqueConstraint(condition=models.Q(('state__in', ['leased', 'taken'])), fields=('worker',), name='one_open_attempt_a_worker'), models.UniqueConstraint(condition=models.Q(('state__in', ['leased', 'taken'])), fields=('trial',), name='one_open_attempt_a_trial'), models.UniqueConstraint(condition=models.Q(('state', 'counted')), fields=('trial',), name='one_counted_attempt_a_trial'), models.CheckConstraint(condition=models.Q(('state__in', ['leased', 'taken', 'counted', 'late', 'faulty', 'refused', 'lost', 'cancelled'])), name='attempt_state'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['counted', 'late']), _negated=True), ('record__isnull', False), _connector='OR'), name='counted_has_record'), models.CheckConstraint(condition=models.Q(models.Q(('ended_unix_s__isnull', True), ('state__in', ['leased', 'taken'])), models.Q(models.Q(('state__in', ['leased', 'taken']), _negated=True), ('ended_unix_s__isnull', False)), _connector='OR'), name='attempt_ended')],
            },
        ),
        migrations.CreateModel(
            name='OutputPiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('phase', models.CharField(max_length=16)),
                ('text', models.TextField()),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='datamill.attempt')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('attempt', 'number'), name='one_output_piece_a_number')],
            },
        ),
        migrations.CreateModel(
            name='Artifact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255)),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='datamill.attempt')),
                ('file', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='datamill.storedfile')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('attempt', 'name'), name='one_artifact_a_name')],
            },
        ),
    ]
